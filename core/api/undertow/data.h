// data.h: datasets, transforms, samplers and loaders of batches.
#pragma once
#include <undertow/data/data_loader.h>
#include <undertow/data/datasets.h>
#include <undertow/data/mnist.h>
#include <undertow/data/samplers.h>
#include <undertow/data/transforms.h>
