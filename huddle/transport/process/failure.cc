#include "huddle/transport/process/failure.h"

#include <charconv>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

// A letter for the kind, a number where the kind has one, a space, and the words.
std::string tagged(char kind, const std::string& words) {
  return concat(std::string(1, kind), " ", words);
}

}  // namespace

std::string text_of(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const PeerLost& lost) {
    return concat("p", lost.peer().value, " ", lost.what());
  } catch (const UsageError& usage) {
    return tagged('u', usage.what());
  } catch (const Interrupted& stopped) {
    return tagged('i', stopped.what());
  } catch (const Diverged& diverged) {
    return tagged('d', diverged.what());
  } catch (const Timeout& late) {
    return tagged('t', late.what());
  } catch (const TransportError& fault) {
    return tagged('n', fault.what());
  } catch (const LogicError& bug) {
    return tagged('l', bug.what());
  } catch (const std::exception& other) {
    return tagged('e', other.what());
  } catch (...) {
    return tagged('e', "an exception of unknown type");
  }
}

std::exception_ptr failure_of(std::string_view text) {
  if (text.empty()) return nullptr;
  const std::size_t space = text.find(' ');
  const std::string words(text.substr(space == std::string_view::npos ? 0 : space + 1));
  int number = 0;
  std::from_chars(text.data() + 1, text.data() + text.size(), number);
  switch (text.front()) {
    case 'p': return std::make_exception_ptr(PeerLost({number}, words));
    case 'u': return std::make_exception_ptr(UsageError(words));
    case 'i': return std::make_exception_ptr(Interrupted(words));
    case 'd': return std::make_exception_ptr(Diverged(words));
    case 't': return std::make_exception_ptr(Timeout(words));
    case 'n': return std::make_exception_ptr(TransportError(words));
    case 'l': return std::make_exception_ptr(LogicError(words));
    default: return std::make_exception_ptr(Error(words));
  }
}

}  // namespace huddle
