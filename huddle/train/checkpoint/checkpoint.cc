#include "huddle/train/checkpoint/checkpoint.h"

#include <ATen/ops/scalar_tensor.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <charconv>

#include "huddle/base/error.h"
#include "huddle/base/read_file.h"
#include "huddle/base/replace_file.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWayOut =
    "Resume from a copy of the checkpoint, or begin anew without --resume.";

void write_whole(const fs::path& path, std::string_view bytes) {
  if (const std::error_code error = replace_file(path, {bytes}))
    throw Error(concat("cannot write ", path.string(), ": ", error.message()));
}

// A folder that holds anything else stays, with that.
void remove_state(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if ((name.starts_with("worker-") && name.find(".pt") != std::string::npos) ||
        name.starts_with(kConsensusFile))
      fs::remove(entry.path());
  }
  if (fs::is_empty(folder)) fs::remove(folder);
}

constexpr std::int64_t kMostBytes = std::int64_t{16} << 30;

std::string read_whole(const fs::path& path) {
  return read_file(path, kMostBytes, "--resume wants a folder that --save wrote");
}

// Refuses a file that is not the one whose hash checkpoint.json has.
std::string read_saved(const fs::path& path, const std::string& hash, const char* way_out) {
  std::string bytes = read_whole(path);
  if (const std::string found = hex_of(sha256(bytes)); found != hash)
    throw UsageError(concat(path.string(),
                            " is damaged, or not the file that was saved there: its SHA-256 is ",
                            found, ", checkpoint.json says ", hash, ". ", way_out));
  return bytes;
}

}  // namespace

Digest save_tensors(const fs::path& path, const NamedTensors& tensors) {
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
  return sha256(archive);
}

namespace {

NamedTensors tensors_in(const fs::path& path, std::string_view bytes) {
  try {
    NamedTensors tensors;
    for (const auto& entry : torch::jit::pickle_load({bytes.begin(), bytes.end()}).toGenericDict())
      tensors[entry.key().toStringRef()] = entry.value().toTensor();
    return tensors;
  } catch (const std::exception&) {
    throw UsageError(concat(path.string(), " is truncated or not a file of tensors (", bytes.size(),
                            " bytes)."));
  }
}

}  // namespace

NamedTensors load_tensors(const fs::path& path) { return tensors_in(path, read_whole(path)); }

std::string CheckpointFolder::committed_folder() const {
  if (committed_) return *committed_;
  return holds_one() ? load_info().folder : "";
}

std::string CheckpointFolder::new_folder(std::int64_t step) const {
  const std::array<std::string, 2> names = step_folder_names(step);
  return names[0] != committed_folder() ? names[0] : names[1];
}

fs::path CheckpointFolder::worker_file(const std::string& folder, WorkerId worker) const {
  return directory_ / worker_file_name(folder, worker);
}

fs::path CheckpointFolder::consensus_file(const std::string& folder) const {
  return directory_ / folder / kConsensusFile;
}

bool CheckpointFolder::holds_one() const { return fs::exists(directory_ / kCheckpointIndex); }

std::map<std::string, std::int64_t> CheckpointFolder::step_folders() const {
  std::map<std::string, std::int64_t> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_)) {
    const std::string name = entry.path().filename().string();
    const std::size_t digits = std::min(name.find_first_of("0123456789"), name.size());
    std::int64_t step = 0;
    std::from_chars(name.data() + digits, name.data() + name.size(), step);
    const std::array<std::string, 2> allowed = step_folder_names(step);
    if (entry.is_directory() && (name == allowed[0] || name == allowed[1])) folders[name] = step;
  }
  return folders;
}

void CheckpointFolder::prepare() const {
  try {
    fs::create_directories(directory_);
    write_whole(directory_ / ".probe", "");
    fs::remove(directory_ / ".probe");
    // What a run was writing when it was killed.
    committed_.reset();  // Another run may have committed since.
    committed_ = committed_folder();
    for (const auto& [folder, step] : step_folders())
      if (folder != committed_) remove_state(directory_ / folder);
  } catch (const fs::filesystem_error& error) {
    throw UsageError(concat("cannot write checkpoints to ", directory_.string(), ": ",
                            error.code().message(), "."));
  } catch (const Error& error) {
    throw UsageError(
        concat("cannot write checkpoints to ", directory_.string(), ": ", error.what(), "."));
  }
}

Digest CheckpointFolder::save_worker(std::int64_t step, WorkerId worker,
                                     const NamedTensors& state) const {
  const std::string folder = new_folder(step);
  fs::create_directories(directory_ / folder);
  // Workers whose models are equal would otherwise write equal files, and one in place of another
  // would go unnoticed.
  NamedTensors signed_state = state;
  signed_state["checkpoint/worker"] = at::scalar_tensor(worker.value, at::kLong);
  signed_state["checkpoint/step"] = at::scalar_tensor(step, at::kLong);
  return save_tensors(worker_file(folder, worker), signed_state);
}

Digest CheckpointFolder::save_consensus(std::int64_t step, const NamedTensors& state) const {
  const std::string folder = new_folder(step);
  fs::create_directories(directory_ / folder);
  return save_tensors(consensus_file(folder), state);
}

void CheckpointFolder::commit(CheckpointInfo info) const {
  const std::string before = committed_folder();
  info.folder = new_folder(info.step);
  write_whole(directory_ / kCheckpointIndex, to_text(info));
  committed_ = info.folder;
  // Only now: until checkpoint.json names it, consensus.pt belongs to the checkpoint before.
  if (info.consensus) fs::rename(consensus_file(info.folder), directory_ / kConsensusFile);
  // Not newer ones, which are not of this run.
  for (const auto& [folder, step] : step_folders())
    if (folder == before || step < info.step) remove_state(directory_ / folder);
}

void CheckpointFolder::discard(std::int64_t step) const {
  remove_state(directory_ / new_folder(step));
}

void CheckpointFolder::save_consensus_alone(const NamedTensors& state) const {
  if (holds_one()) {
    CheckpointInfo info = load_info();
    info.consensus.reset();
    write_whole(directory_ / kCheckpointIndex, to_text(info));
  }
  save_tensors(directory_ / kConsensusFile, state);
}

CheckpointInfo CheckpointFolder::load_info() const {
  const fs::path path = directory_ / kCheckpointIndex;
  return info_in(path, read_whole(path));
}

void CheckpointFolder::verify(const CheckpointInfo& info) const {
  for (int worker = 0; worker < std::ssize(info.workers); ++worker)
    read_saved(worker_file(info.folder, WorkerId{worker}),
               info.workers[static_cast<std::size_t>(worker)], kWayOut);
  if (!info.consensus) return;
  // A run may have been killed between naming it and moving it.
  const fs::path moved = directory_ / kConsensusFile;
  const fs::path unmoved = consensus_file(info.folder);
  const fs::path path = fs::exists(unmoved) ? unmoved : moved;
  if (fs::exists(path))
    read_saved(path, *info.consensus,
               "Going on does not need it: remove it, and the next checkpoint has a new one.");
}

NamedTensors CheckpointFolder::load_worker(const CheckpointInfo& info, WorkerId worker) const {
  const fs::path path = worker_file(info.folder, worker);
  const std::string& hash = info.workers.at(static_cast<std::size_t>(worker.value));
  return tensors_in(path, read_saved(path, hash, kWayOut));
}

}  // namespace huddle
