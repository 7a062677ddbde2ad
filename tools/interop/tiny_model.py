"""Makes a tiny Llama with random weights and a tokenizer of its own.

Writes the same model twice: as a folder that transformers and vLLM read, and as
a GGUF file for llama.cpp. It answers with noise, at once: enough to see how an
engine counts, streams, refuses and dies, and of no use for anything else.

Usage: tiny_model.py WORDLIST FOLDER GGUF
"""

import json
import pathlib
import sys

import gguf
import numpy
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 3584
HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD, FEED_FORWARD = 128, 2, 4, 2, 32, 256
CONTEXT = 8192
ROPE, EPSILON = 10000.0, 1e-5
BEGIN, END = "<|begin|>", "<|end|>"
TEMPLATE = (
    "{{ '" + BEGIN + "' }}{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
)


def tokenizer(words):
    """A byte-level BPE that has seen nothing but the word list.

    With a vocabulary of this size a long prompt has about 0.8 tokens for each
    token of its label, which is what Assay expects of a real model.
    """
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    t.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[BEGIN, END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    lines = [" ".join(words[i : i + 16]) for i in range(0, len(words), 16)]
    t.train_from_iterator(lines, trainer)
    return t


def weights(random):
    """Weights under their names in transformers."""

    def matrix(rows, columns):
        return (random.standard_normal((rows, columns)) * 0.05).astype(numpy.float32)

    ones = numpy.ones(HIDDEN, dtype=numpy.float32)
    w = {"model.embed_tokens.weight": matrix(VOCABULARY, HIDDEN), "model.norm.weight": ones.copy(), "lm_head.weight": matrix(VOCABULARY, HIDDEN)}
    for i in range(LAYERS):
        layer = f"model.layers.{i}."
        w[layer + "input_layernorm.weight"] = ones.copy()
        w[layer + "post_attention_layernorm.weight"] = ones.copy()
        w[layer + "self_attn.q_proj.weight"] = matrix(HEADS * HEAD, HIDDEN)
        w[layer + "self_attn.k_proj.weight"] = matrix(KV_HEADS * HEAD, HIDDEN)
        w[layer + "self_attn.v_proj.weight"] = matrix(KV_HEADS * HEAD, HIDDEN)
        w[layer + "self_attn.o_proj.weight"] = matrix(HIDDEN, HEADS * HEAD)
        w[layer + "mlp.gate_proj.weight"] = matrix(FEED_FORWARD, HIDDEN)
        w[layer + "mlp.up_proj.weight"] = matrix(FEED_FORWARD, HIDDEN)
        w[layer + "mlp.down_proj.weight"] = matrix(HIDDEN, FEED_FORWARD)
    return w


def write_folder(folder, t, w):
    folder.mkdir(parents=True, exist_ok=True)
    begin, end = t.token_to_id(BEGIN), t.token_to_id(END)
    t.save(str(folder / "tokenizer.json"))
    save_file(w, str(folder / "model.safetensors"), metadata={"format": "pt"})
    for name, content in {
        "config.json": {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": VOCABULARY,
            "hidden_size": HIDDEN, "intermediate_size": FEED_FORWARD, "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD,
            "max_position_embeddings": CONTEXT, "rms_norm_eps": EPSILON, "rope_theta": ROPE, "hidden_act": "silu",
            "tie_word_embeddings": False, "torch_dtype": "float32", "bos_token_id": begin, "eos_token_id": end,
        },
        "generation_config.json": {"bos_token_id": begin, "eos_token_id": end},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": BEGIN, "eos_token": END,
            "model_max_length": CONTEXT, "chat_template": TEMPLATE, "clean_up_tokenization_spaces": False,
        },
    }.items():
        (folder / name).write_text(json.dumps(content, indent=1) + "\n")


def write_gguf(path, t, w):
    g = gguf.GGUFWriter(str(path), "llama")
    g.add_name("tiny-random")
    g.add_context_length(CONTEXT)
    g.add_embedding_length(HIDDEN)
    g.add_block_count(LAYERS)
    g.add_feed_forward_length(FEED_FORWARD)
    g.add_head_count(HEADS)
    g.add_head_count_kv(KV_HEADS)
    g.add_rope_dimension_count(HEAD)
    g.add_rope_freq_base(ROPE)
    g.add_layer_norm_rms_eps(EPSILON)
    g.add_vocab_size(VOCABULARY)
    g.add_file_type(gguf.LlamaFileType.ALL_F32)
    begin, end = t.token_to_id(BEGIN), t.token_to_id(END)
    by_id = sorted(t.get_vocab().items(), key=lambda item: item[1])
    g.add_tokenizer_model("gpt2")
    g.add_tokenizer_pre("gpt-2")
    g.add_token_list([token for token, _ in by_id])
    g.add_token_types([gguf.TokenType.CONTROL if i in (begin, end) else gguf.TokenType.NORMAL for _, i in by_id])
    merges = json.loads(t.to_str())["model"]["merges"]
    g.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in merges])
    g.add_bos_token_id(begin)
    g.add_eos_token_id(end)
    g.add_add_bos_token(False)
    g.add_chat_template(TEMPLATE)
    names = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    parts = {
        "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    }
    for name, tensor in w.items():
        stem = name.removesuffix(".weight")
        if stem in names:
            g.add_tensor(names[stem] + ".weight", tensor)
            continue
        _, _, layer, part = stem.split(".", 3)
        if part in ("self_attn.q_proj", "self_attn.k_proj"):
            heads = HEADS if part.endswith("q_proj") else KV_HEADS
            # GGUF keeps the two halves of a rotated head interleaved.
            tensor = tensor.reshape(heads, 2, HEAD // 2, HIDDEN).swapaxes(1, 2).reshape(tensor.shape)
        g.add_tensor(f"blk.{layer}.{parts[part]}.weight", tensor)
    g.write_header_to_file()
    g.write_kv_data_to_file()
    g.write_tensors_to_file()
    g.close()


def main():
    wordlist, folder, path = map(pathlib.Path, sys.argv[1:])
    t = tokenizer(wordlist.read_text().split())
    w = weights(numpy.random.default_rng(20260101))
    write_folder(folder, t, w)
    write_gguf(path, t, w)


main()
