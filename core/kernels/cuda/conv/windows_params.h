// windows_params.h: the windows that a convolution reads from an image, as kernel parameters. Included by the host and
// by device code, so it uses no other header; the includer has defined int64_t.
#pragma once

namespace undertow {

// `count` images of `channels` channels; strides of the image in elements. Columns are row-major: (count, channels,
// taps, positions).
struct WindowParams {
  int64_t count, channels;
  int64_t batch_stride, channel_stride, strides[3];
  int64_t in[3], out[3], kernel[3], stride[3], pad[3], dilation[3];
};

}  // namespace undertow
