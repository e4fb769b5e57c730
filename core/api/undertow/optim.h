// optim.h: optimizers and learning-rate schedules.
#pragma once
#include <undertow/optim/lbfgs.h>
#include <undertow/optim/lr_scheduler.h>
#include <undertow/optim/optimizer.h>
#include <undertow/optim/optimizers.h>
