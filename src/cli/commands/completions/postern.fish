# Completions of postern for fish.
function __postern_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] __complete $words[2..] "$current" 2>/dev/null)
        switch $line
            case :file
                __fish_complete_path (string replace -r '^-[^=]*=' '' -- $current)
            case :directory
                __fish_complete_directories (string replace -r '^-[^=]*=' '' -- $current)
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c postern -f -a '(__postern_complete)'
