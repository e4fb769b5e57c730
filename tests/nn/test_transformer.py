"""Transformer layers compared with torch: weights, outputs, gradients, masks and errors."""

import copy

import pytest

OPTIONS = {
    "plain": {},
    "norm first": {"norm_first": True},
    "batch first": {"batch_first": True},
    "gelu": {"activation": "gelu"},
    "no bias": {"bias": False},
    "all of it": {"norm_first": True, "batch_first": True, "activation": "gelu", "bias": False},
}


def ends(layer, inputs, out):
    (out**2).sum().backward()
    return [repr(layer), dict(layer.state_dict()), out, [x.grad for x in inputs], [p.grad for p in layer.parameters()]]


@pytest.mark.parametrize("name", OPTIONS)
def test_an_encoder_layer_matches_torch(name, same_as_torch):
    def scenario(L):
        layer = L.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, **OPTIONS[name])
        x = L.randn(5, 3, 8).requires_grad_()
        return ends(layer, [x], layer(x))

    same_as_torch(scenario, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_decoder_layer_matches_torch(name, same_as_torch):
    def scenario(L):
        layer = L.nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, **OPTIONS[name])
        batch_first = OPTIONS[name].get("batch_first")
        x, memory = L.randn(4, 3, 8).requires_grad_(), L.randn(*((4, 6, 8) if batch_first else (6, 3, 8))).requires_grad_()
        return ends(layer, [x, memory], layer(x, memory))

    same_as_torch(scenario, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPTIONS)
def test_the_whole_model_matches_torch(name, same_as_torch):
    def scenario(L):
        model = L.nn.Transformer(8, 2, 2, 2, 16, dropout=0.0, **OPTIONS[name])
        src, tgt = L.randn(5, 5, 8).requires_grad_(), L.randn(5, 5, 8).requires_grad_()
        mask = model.generate_square_subsequent_mask(5)
        return ends(model, [src, tgt], model(src, tgt, tgt_mask=mask))

    same_as_torch(without_advice(scenario), rtol=1e-4, atol=1e-4)


def without_advice(scenario):
    """Ignores torch's warnings about its nested tensors, which we do not have."""
    import warnings

    def quiet(L):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "enable_nested_tensor")
            return scenario(L)

    return quiet


def masks(L):
    causal = L.nn.Transformer.generate_square_subsequent_mask(5)
    padding = L.tensor([[False] * 5, [False, False, False, True, True], [False] * 4 + [True]])
    return causal, padding


MASKED = {
    "a causal mask": lambda L, layer, x: layer(x, masks(L)[0]),
    "a causal mask and its hint": lambda L, layer, x: layer(x, masks(L)[0], is_causal=True),
    "a mask of bools": lambda L, layer, x: layer(x, masks(L)[0] < 0),
    "a mask for each head": lambda L, layer, x: layer(x, (masks(L)[0] < 0).expand(6, 5, 5)),
    "padding": lambda L, layer, x: layer(x, src_key_padding_mask=masks(L)[1]),
    "padding and a mask of bools": lambda L, layer, x: layer(x, masks(L)[0] < 0, masks(L)[1]),
    "padding that is added": lambda L, layer, x: layer(x, src_key_padding_mask=L.zeros(3, 5).masked_fill(masks(L)[1], float("-inf"))),
    "a mask of integers": lambda L, layer, x: layer(x, L.ones(5, 5, dtype=L.int64)),
    "padding of integers": lambda L, layer, x: layer(x, None, L.ones(3, 5, dtype=L.int64)),
    "a hint without a mask": lambda L, layer, x: layer(x, is_causal=True),
    "a mask of another shape": lambda L, layer, x: layer(x, L.zeros(4, 5)),
    "masks of two types": lambda L, layer, x: layer(x, masks(L)[0], masks(L)[1]),
}


@pytest.mark.parametrize("what", MASKED)
def test_masks_work_as_in_torch(what, same_as_torch):
    def scenario(L):
        layer = L.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
        return MASKED[what](L, layer, L.randn(5, 3, 8))

    same_as_torch(scenario, rtol=1e-4, atol=1e-5)


def test_stacks_begin_as_copies_and_end_with_a_norm(same_as_torch):
    def scenario(L):
        encoder = L.nn.TransformerEncoder(L.nn.TransformerEncoderLayer(8, 2, 16), 2, L.nn.LayerNorm(8))
        decoder = L.nn.TransformerDecoder(L.nn.TransformerDecoderLayer(8, 2, 16), 2, L.nn.LayerNorm(8))
        encoder.eval(), decoder.eval()
        causal, _ = masks(L)
        x = L.randn(5, 3, 8)
        memory = encoder(x, causal)
        return [repr(encoder), repr(decoder), list(decoder.state_dict()), memory, decoder(x, memory, tgt_mask=causal), encoder(x, causal, is_causal=True)]

    same_as_torch(without_advice(scenario), rtol=1e-4, atol=1e-4)


def test_a_single_sequence_needs_no_batch(same_as_torch):
    def scenario(L):
        model = L.nn.Transformer(8, 2, 1, 1, 16, dropout=0.0)
        return model(L.randn(4, 8), L.randn(3, 8))

    same_as_torch(without_advice(scenario), rtol=1e-4, atol=1e-4)


def test_dropout_draws_as_in_torch(same_as_torch):
    def scenario(L):
        layer = L.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3)
        return layer(L.randn(5, 3, 8))

    same_as_torch(scenario, rtol=1e-4, atol=1e-5)


ERROR_CASES = {
    "an unknown activation": lambda L: L.nn.TransformerEncoderLayer(8, 2, activation="x"),
    "heads that do not divide": lambda L: L.nn.TransformerEncoderLayer(8, 3),
    "batches that differ": lambda L: L.nn.Transformer(8, 2, 1, 1, 16)(L.ones(3, 2, 8), L.ones(3, 3, 8)),
    "another width": lambda L: L.nn.Transformer(8, 2, 1, 1, 16)(L.ones(3, 2, 7), L.ones(3, 2, 8)),
}


@pytest.mark.parametrize("what", ERROR_CASES)
def test_errors_match_torch(what, same_as_torch):
    same_as_torch(without_advice(ERROR_CASES[what]), rtol=1e-4, atol=1e-4)


def test_an_activation_may_be_a_module_and_layers_copy(same_as_torch):
    def scenario(L):
        layer = L.nn.TransformerEncoderLayer(8, 2, 16, 0.0, L.nn.GELU())
        x = L.randn(5, 3, 8)
        return [repr(layer), layer(x), copy.deepcopy(layer)(x), layer.double()(x.double())]

    same_as_torch(scenario, rtol=1e-4, atol=1e-5)
