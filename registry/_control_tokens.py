"""Chat-template control tokens, as data for the escapes of `_fence.py`. Knows names only; nothing is decided here.

A tokenizer that parses special tokens in content would take these for the end of a turn or the start of another.
Left out: `<s>`, `</s>` (HTML), `<mask>`, `<image>`, `<audio>`, `<result>`, `<tools>`, `<parameter>` (markup that real
pages hold), `[ARGS]`, `[PREFIX]`, `[SUFFIX]` (usage texts; without their opening token they mean nothing), and plain
words such as `Human:` or `### Instruction:`, which no tokenizer treats apart.
"""

from typing import Final

EXACT: Final[tuple[str, ...]] = (
    # Llama 2, Mistral
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CONTENT]",
    "[MODEL_SETTINGS]",
    "[/MODEL_SETTINGS]",
    "[THINK]",
    "[/THINK]",
    "[gMASK]",
    # Gemma
    "<start_of_turn>",
    "<end_of_turn>",
    "<start_of_image>",
    "<end_of_image>",
    "<start_function_call>",
    "<end_function_call>",
    "<start_function_declaration>",
    "<end_function_declaration>",
    "<start_function_response>",
    "<end_function_response>",
    # sequence and padding tokens of many families
    "<bos>",
    "<eos>",
    "<pad>",
    "<unk>",
    "<BOS_TOKEN>",
    "<EOS_TOKEN>",
    "<PAD_TOKEN>",
    "<UNK_TOKEN>",
    "<sop>",
    "<eop>",
    # Hermes, Qwen, Llama 3: calls and results as tags
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "<tool_response>",
    "</tool_response>",
    "<tool_result>",
    "</tool_result>",
    "<tool_results>",
    "</tool_results>",
    "<tool_use>",
    "</tool_use>",
    "<function_call>",
    "</function_call>",
    "<function_calls>",
    "</function_calls>",
    "<function_result>",
    "</function_result>",
    "<function_results>",
    "</function_results>",
    "</invoke>",
    "</function>",
    # reasoning
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
    "<seed:think>",
    "</seed:think>",
    # code models
    "<fim_prefix>",
    "<fim_middle>",
    "<fim_suffix>",
    "<fim_pad>",
    "<file_sep>",
    "<repo_name>",
    "<reponame>",
    "<end_of_utterance>",
)

# What follows `<` in families of tokens; regular expressions over lower-case text, each linear.
FAMILIES: Final[tuple[str, ...]] = (
    r"\|[\w/][^\s|<>]{0,63}+\|?>",  # <|im_start|>, <|eot_id|>, <|turn>, DeepSeek's <|User|> in wide bars
    r"[\w/][^\s|<>]{0,63}+\|>",  # <turn|>
    r"extra_id_\d{1,4}>",  # T5
    r"unused\d{1,4}>",  # Gemma
    r"special_\d{1,4}>",  # Mistral
    r"invoke name=",  # calls as tags
    r"/?antml:[a-z_]+",  # the same with a namespace
    r"function=",  # Llama 3, Qwen
)
