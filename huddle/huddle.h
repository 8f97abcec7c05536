// Huddle for C++ programs: include this beside torch/torch.h. docs/library.md tells how, examples/
// has whole programs.

#pragma once

#include "huddle/api/compare.h"
#include "huddle/api/engine.h"
#include "huddle/api/run.h"
#include "huddle/base/error.h"
#include "huddle/report/table.h"
#include "huddle/train/sync.h"
#include "huddle/train/worker.h"
