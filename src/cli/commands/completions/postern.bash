# Completions of postern for bash.
_postern() {
    local line=${COMP_LINE:0:COMP_POINT} reply value
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    local current=${words[${#words[@]}-1]}
    # Bash replaces what follows the last of its word breaks.
    local kept=${current%"${current##*[:=]}"}
    COMPREPLY=()
    while IFS= read -r reply; do
        value=${current#"$kept"}
        case $reply in
            :file) compopt -o filenames; while IFS= read -r reply; do COMPREPLY+=("$reply"); done < <(compgen -f -- "$value") ;;
            :directory) compopt -o filenames; while IFS= read -r reply; do COMPREPLY+=("$reply"); done < <(compgen -d -- "$value") ;;
            *) reply=${reply%%$'\t'*}; COMPREPLY+=("${reply#"$kept"}") ;;
        esac
    done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
}
complete -F _postern postern
