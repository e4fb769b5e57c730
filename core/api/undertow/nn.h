// nn.h: modules, their options, functions and initialization.
#pragma once
#include <undertow/nn/activation.h>
#include <undertow/nn/attention.h>
#include <undertow/nn/containers.h>
#include <undertow/nn/conv.h>
#include <undertow/nn/embedding_bag.h>
#include <undertow/nn/functional.h>
#include <undertow/nn/init.h>
#include <undertow/nn/layers.h>
#include <undertow/nn/loss.h>
#include <undertow/nn/module.h>
#include <undertow/nn/normalization.h>
#include <undertow/nn/pooling.h>
#include <undertow/nn/rnn.h>
#include <undertow/nn/transformer.h>
#include <undertow/nn/utils.h>
#include <undertow/nn/vision.h>
