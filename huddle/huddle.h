// Huddle for C++ programs: include this beside torch/torch.h. See examples/ for a whole program.

#pragma once

#include "huddle/base/error.h"
#include "huddle/train/sync.h"
#include "huddle/train/worker.h"
#include "huddle/transport/threads/launcher.h"
