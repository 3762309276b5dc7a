# Iverson programs. The words and symbols between the marks are made from the language's tables.

hook global BufCreate .*\.iv %{ set-option buffer filetype iverson }

hook global WinSetOption filetype=iverson %{
    require-module iverson
    set-option window comment_line '--'
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
# table end
# table: words
# table end

add-highlighter shared/iverson/code/ regex "(?<![\w'])\d[\d_]*(\.\d[\d_]*)?([eE][+-]?\d+)?" 0:value
add-highlighter shared/iverson/code/ regex "^\h*(def|derivative|adjoint)\h+([\w']+)\h*\(" 1:keyword 2:function
add-highlighter shared/iverson/code/ regex "^\h*(type)\h+([\w']+)" 1:keyword 2:type

§
