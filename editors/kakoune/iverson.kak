# Iverson programs. The words and symbols between the marks are made from the language's tables.

hook global BufCreate .*\.iv %{ set-option buffer filetype iverson }

hook global WinSetOption filetype=iverson %{
    require-module iverson
    try %{ set-option window comment_line '--' }
    add-highlighter window/iverson ref iverson
    hook -once -always window WinSetOption filetype=.* %{ remove-highlighter window/iverson }
}

provide-module iverson %§

add-highlighter shared/iverson regions
add-highlighter shared/iverson/code default-region group
add-highlighter shared/iverson/doc region '--\|' '$' fill documentation
add-highlighter shared/iverson/comment region '--' '$' fill comment
add-highlighter shared/iverson/string region '"' '(?<!\\)(\\\\)*"' fill string

# table: symbols
add-highlighter shared/iverson/code/ regex "!=|&&|\+=|->|\.\.|//|<=|==|>=|\|>|\|\||!|%%|\*|\+|-|/|<|=|>|\?|\\|\^|\||¬|·|×|→|−|∧|∨|≠|≤|≥|⋅" 0:operator
# table end
# table: words
add-highlighter shared/iverson/code/ regex "(?<![^.]\.)(?<!')\b(as|def|do|import|in|let|type|where)\b(?!')" 1:keyword
add-highlighter shared/iverson/code/ regex "(?<![^.]\.)(?<!')\b(for)\b(?!')" 1:keyword
add-highlighter shared/iverson/code/ regex "⊞" 0:keyword
add-highlighter shared/iverson/code/ regex "(?<![^.]\.)(?<!')\b(by|checkpoint|else|fold|if|loop|match|scan|then|while|with|yield)\b(?!')" 1:keyword
add-highlighter shared/iverson/code/ regex "(?<![^.]\.)(?<!')\b(false|true)\b(?!')" 1:value
add-highlighter shared/iverson/code/ regex "(?<![^.]\.)(?<!')\b(all|any|argmax|argmin|max|min|prod|rel|sum)\b(?!')\h+\w" 1:keyword
add-highlighter shared/iverson/code/ regex "∀|∃|∏|∑" 0:keyword
add-highlighter shared/iverson/code/ regex "(?<![^.]\.)(?<!')\b(bool|f32|f64|i64)\b(?!')" 1:type
add-highlighter shared/iverson/code/ regex "(?<![^.]\.)(?<!')\b(grad|hessian|hvp|jacobian|jvp|jvp2|value_and_grad|vjp|vjp2)\b(?!')\h*\(" 1:builtin
add-highlighter shared/iverson/code/ regex "∇" 0:builtin
add-highlighter shared/iverson/code/ regex "(?<![^.]\.)(?<!')\b(assert|dbg|deriv|error|load|par|plot|print|relation|reshape|save|stop|time)\b(?!')\h*\(" 1:builtin
add-highlighter shared/iverson/code/ regex "(?<![^.]\.)(?<!')\b(abs|acos|acosh|argsort|asin|asinh|atan|atan2|atanh|bit_and|bit_not|bit_or|bit_xor|cbrt|ceil|cos|cosh|digamma|erf|erfc|exp|expm1|filter|floor|hypot|len|lgamma|log|log1p|max|min|polygamma|relu|round|round_to|shl|shr|sigmoid|sign|sin|sinh|softplus|sort|sqrt|tan|tanh|trunc|ushr)\b(?!')\h*\(" 1:builtin
add-highlighter shared/iverson/code/ regex "(?<![^.]\.)(?<!')\b(inf|nan|pi)\b(?!')" 1:value
add-highlighter shared/iverson/code/ regex "π|∞" 0:value
# table end

add-highlighter shared/iverson/code/ regex "(?<![\w'])\d[\d_]*(\.\d[\d_]*)?([eE][+-]?\d+)?" 0:value
add-highlighter shared/iverson/code/ regex "^\h*(def|derivative|adjoint)\h+([\w']+)\h*\(" 1:keyword 2:function
add-highlighter shared/iverson/code/ regex "^\h*(type)\h+([\w']+)" 1:keyword 2:type

§
