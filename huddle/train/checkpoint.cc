#include "huddle/train/checkpoint.h"

#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "huddle/core/error.h"
#include "huddle/core/read_file.h"
#include "huddle/core/replace_file.h"
#include "huddle/core/text.h"

namespace huddle {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepFolder = "step-";

void write_whole(const fs::path& path, std::string_view bytes) {
  if (const std::error_code error = replace_file(path, {bytes}))
    throw Error(concat("cannot write ", path.string(), ": ", error.message()));
}

// A folder that holds anything else stays, with that.
void remove_state(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("worker-") && name.find(".pt") != std::string::npos)
      fs::remove(entry.path());
  }
  if (fs::is_empty(folder)) fs::remove(folder);
}

constexpr std::int64_t kMostBytes = std::int64_t{16} << 30;

std::vector<char> read_whole(const fs::path& path) {
  const std::string bytes =
      read_file(path, kMostBytes, "--resume wants a folder that --save wrote");
  return {bytes.begin(), bytes.end()};
}

}  // namespace

void save_tensors(const fs::path& path, const NamedTensors& tensors) {
  c10::Dict<std::string, at::Tensor> dictionary;
  for (const auto& [name, tensor] : tensors) dictionary.insert(name, tensor.detach().cpu().clone());

  // As torch::pickle_save does it, but without type tags, which `torch.load` does not accept by
  // default.
  std::string pickled;
  torch::jit::Pickler pickler(
      [&](const char* data, std::size_t size) { pickled.append(data, size); }, nullptr, nullptr,
      nullptr, nullptr, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(dictionary);
  pickler.stop();

  std::string archive;
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, std::size_t size) {
    archive.append(static_cast<const char*>(data), size);
    return size;
  });
  for (std::size_t i = 0; i < pickler.tensorData().size(); ++i) {
    const at::Tensor& tensor = pickler.tensorData()[i];
    writer.writeRecord(fmt::format("data/{}", i), tensor.storage().data(),
                       tensor.storage().nbytes());
  }
  writer.writeRecord("data.pkl", pickled.data(), pickled.size());
  writer.writeEndOfFile();
  write_whole(path, archive);
}

NamedTensors load_tensors(const fs::path& path) {
  const std::vector<char> bytes = read_whole(path);
  try {
    NamedTensors tensors;
    for (const auto& entry : torch::jit::pickle_load(bytes).toGenericDict())
      tensors[entry.key().toStringRef()] = entry.value().toTensor();
    return tensors;
  } catch (const std::exception&) {
    throw UsageError(concat(path.string(), " is truncated or not a file of tensors (", bytes.size(),
                            " bytes)."));
  }
}

fs::path CheckpointFolder::step_folder(std::int64_t step) const {
  return directory_ / fmt::format("{}{:06}", kStepFolder, step);
}

std::map<std::int64_t, fs::path> CheckpointFolder::step_folders() const {
  std::map<std::int64_t, fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_)) {
    const std::string name = entry.path().filename().string();
    std::int64_t step = 0;
    if (name.starts_with(kStepFolder))
      std::from_chars(name.data() + kStepFolder.size(), name.data() + name.size(), step);
    if (entry.is_directory() && entry.path() == step_folder(step)) folders[step] = entry.path();
  }
  return folders;
}

void CheckpointFolder::prepare(Older older) const {
  const bool holds_one = fs::exists(directory_ / "checkpoint.json");
  if (older == Older::refuse && holds_one)
    throw UsageError(concat(
        directory_.string(),
        " holds a checkpoint already; go on from it with --resume, or name another folder."));
  try {
    fs::create_directories(directory_);
    write_whole(directory_ / ".probe", "");
    fs::remove(directory_ / ".probe");
    // What a run was writing when it was killed.
    const std::int64_t committed = holds_one ? load_info().step : -1;
    for (const auto& [step, path] : step_folders())
      if (step != committed) remove_state(path);
  } catch (const fs::filesystem_error& error) {
    throw UsageError(concat("cannot write checkpoints to ", directory_.string(), ": ",
                            error.code().message(), "."));
  } catch (const Error& error) {
    throw UsageError(
        concat("cannot write checkpoints to ", directory_.string(), ": ", error.what(), "."));
  }
}

void CheckpointFolder::save_worker(std::int64_t step, WorkerId worker,
                                   const NamedTensors& state) const {
  fs::create_directories(step_folder(step));
  save_tensors(step_folder(step) / fmt::format("worker-{}.pt", worker.value), state);
}

void CheckpointFolder::save_consensus(const NamedTensors& state) const {
  save_tensors(directory_ / "consensus.pt", state);
}

void CheckpointFolder::commit(const CheckpointInfo& info) const {
  const nlohmann::json json = {
      {"step", info.step}, {"workers", info.workers}, {"settings", info.settings}};
  const std::string text = json.dump(2) + "\n";
  write_whole(directory_ / "checkpoint.json", text);
  // Not newer ones: somebody may be writing the next.
  for (const auto& [step, path] : step_folders())
    if (step < info.step) remove_state(path);
}

CheckpointInfo CheckpointFolder::load_info() const {
  const fs::path path = directory_ / "checkpoint.json";
  const std::vector<char> text = read_whole(path);
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    return {json.at("step"), json.at("workers"), json.at("settings")};
  } catch (const nlohmann::json::exception&) {
    throw UsageError(concat(path.string(), " is truncated or not a checkpoint."));
  }
}

NamedTensors CheckpointFolder::load_worker(std::int64_t step, WorkerId worker) const {
  return load_tensors(step_folder(step) / fmt::format("worker-{}.pt", worker.value));
}

}  // namespace huddle
