#compdef postern
# Completions of postern for zsh.
_postern() {
    local line word
    local -a described
    for line in "${(@f)$(${(Q)words[1]} __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        case $line in
            '') ;;
            :file) compset -P '*='; _files ;;
            :directory) compset -P '*='; _files -/ ;;
            *) word=${line%%$'\t'*}; described+=("${word//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    (( ${#described} )) && _describe -V postern described
}
if [[ $funcstack[1] == _postern ]]; then
    _postern "$@"
else
    compdef _postern postern
fi
