" Iverson. The words and symbols between the marks are made from the language's tables: `cargo xtask bless`.

if exists('b:current_syntax')
  finish
endif

syn case match
syn iskeyword @,48-57,_,192-255,'

syn match iversonName /\v%([[:alpha:]_]|[^\x00-\x7f])%([[:alnum:]_']|[^\x00-\x7f])*/
syn match iversonCall /\v%([[:alpha:]_]|[^\x00-\x7f])%([[:alnum:]_']|[^\x00-\x7f])*\ze\(/

" table: symbols
syn match iversonOperator /\V⋅/
syn match iversonOperator /\V≥/
syn match iversonOperator /\V≤/
syn match iversonOperator /\V≠/
syn match iversonOperator /\V∨/
syn match iversonOperator /\V∧/
syn match iversonOperator /\V−/
syn match iversonOperator /\V→/
syn match iversonOperator /\V×/
syn match iversonOperator /\V·/
syn match iversonOperator /\V¬/
syn match iversonOperator /\V|/
syn match iversonOperator /\V^/
syn match iversonOperator /\V\\/
syn match iversonOperator /\V?/
syn match iversonOperator /\V>/
syn match iversonOperator /\V=/
syn match iversonOperator /\V</
syn match iversonOperator /\V\//
syn match iversonOperator /\V-/
syn match iversonOperator /\V+/
syn match iversonOperator /\V*/
syn match iversonOperator /\V%/
syn match iversonOperator /\V!/
syn match iversonOperator /\V||/
syn match iversonOperator /\V|>/
syn match iversonOperator /\V>=/
syn match iversonOperator /\V==/
syn match iversonOperator /\V<=/
syn match iversonOperator /\V\/\//
syn match iversonOperator /\V../
syn match iversonOperator /\V->/
syn match iversonOperator /\V+=/
syn match iversonOperator /\V&&/
syn match iversonOperator /\V!=/
" table end
" table: words
syn match iversonItem /\v%(%(^|[^.])\.)@5<!<%(as|def|do|import|in|let|type|where)>/
syn match iversonGenerator /\v%(%(^|[^.])\.)@5<!<%(for)>/
syn match iversonGenerator /\V⊞/
syn match iversonControl /\v%(%(^|[^.])\.)@5<!<%(by|checkpoint|else|fold|if|loop|match|scan|then|while|with|yield)>/
syn match iversonTruth /\v%(%(^|[^.])\.)@5<!<%(false|true)>/
syn match iversonBinder /\v%(%(^|[^.])\.)@5<!<%(all|any|argmax|argmin|max|min|prod|rel|sum)>%(\s+%([[:alpha:]_]|[^\x00-\x7f]))@=/
syn match iversonBinder /\V∑/
syn match iversonBinder /\V∏/
syn match iversonBinder /\V∃/
syn match iversonBinder /\V∀/
syn match iversonType /\v%(%(^|[^.])\.)@5<!<%(bool|f32|f64|i64)>/
syn match iversonDerivative /\v%(%(^|[^.])\.)@5<!<%(grad|hessian|hvp|jacobian|jvp|jvp2|value_and_grad|vjp|vjp2)>%(\s*\()@=/
syn match iversonDerivative /\V∇/
syn match iversonForm /\v%(%(^|[^.])\.)@5<!<%(assert|dbg|deriv|error|load|par|plot|print|relation|reshape|save|stop|time)>%(\s*\()@=/
syn match iversonFunction /\v%(%(^|[^.])\.)@5<!<%(abs|acos|acosh|argsort|asin|asinh|atan|atan2|atanh|bit_and|bit_not|bit_or|bit_xor|cbrt|ceil|cos|cosh|digamma|erf|erfc|exp|expm1|filter|floor|hypot|len|lgamma|log|log1p|max|min|polygamma|relu|round|round_to|shl|shr|sigmoid|sign|sin|sinh|softplus|sort|sqrt|tan|tanh|trunc|ushr)>%(\s*\()@=/
syn match iversonConstant /\v%(%(^|[^.])\.)@5<!<%(inf|nan|pi)>/
syn match iversonConstant /\V∞/
syn match iversonConstant /\Vπ/
" table end

syn match iversonInteger /\v<\d[0-9_]*/
syn match iversonReal /\v<\d[0-9_]*%(\.\d[0-9_]*%([eE][+-]?\d+)?|[eE][+-]?\d+)/
syn match iversonPosition /\v%([[:alnum:]_')\]}]\.)@5<=\d+/

syn match iversonField /\v%([[:alnum:]_')\]}]\.)@5<=%([[:alpha:]_]|[^\x00-\x7f])%([[:alnum:]_']|[^\x00-\x7f])*/
syn match iversonItem /\v^\s*%(derivative|adjoint)\ze\s+\k+\s*\(/
syn match iversonDefined /\v%(^\s*%(def|derivative|adjoint)\s+)@60<=%([[:alpha:]_]|[^\x00-\x7f])%([[:alnum:]_']|[^\x00-\x7f])*/
syn match iversonDefinedType /\v%(^\s*type\s+)@60<=%([[:alpha:]_]|[^\x00-\x7f])%([[:alnum:]_']|[^\x00-\x7f])*/

syn region iversonString start=/"/ end=/"/ oneline contains=iversonEscape
syn match iversonEscape /\\[nt"\\]/ contained

syn match iversonComment /--.*$/ contains=@Spell
syn match iversonDoc /--|.*$/ contains=iversonCode,@Spell
syn match iversonCode /`[^`]*`/ contained contains=@NoSpell

hi def link iversonItem Keyword
hi def link iversonControl Keyword
hi def link iversonGenerator Repeat
hi def link iversonBinder Repeat
hi def link iversonTruth Boolean
hi def link iversonConstant Constant
hi def link iversonType Type
hi def link iversonDerivative Special
hi def link iversonForm Function
hi def link iversonFunction Function
hi def link iversonCall Function
hi def link iversonOperator Operator
hi def link iversonInteger Number
hi def link iversonReal Float
hi def link iversonPosition Number
hi def link iversonDefined Function
hi def link iversonDefinedType Type
hi def link iversonString String
hi def link iversonEscape SpecialChar
hi def link iversonComment Comment
hi def link iversonDoc SpecialComment
hi def link iversonCode Identifier

let b:current_syntax = 'iverson'
