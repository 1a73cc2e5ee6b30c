#!/bin/sh
# Builds the library and train_example with other compilers and optimisation levels, trains with each
# kernel table that this processor runs, and compares the checksums of the weights with the published
# ones.
#
# usage: same_bits.sh SOURCE GOLDEN [KERNELS ...]
#
# GOLDEN has a line for each case: recipe, seed, steps, checksum. Prints a table of build, kernels
# and case. CMAKE names cmake, GENERATOR its generator.
set -eu
source=$1
golden=$2
shift 2
kernels=${*:-baseline}
unset CFLAGS CPPFLAGS LDFLAGS TAPEGRAD_KERNELS

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

build() { # a name, the compiler, its options
    set -- "$directory/$1" "$2" "$3"
    {
        "${CMAKE:-cmake}" -S "$source" -B "$1" ${GENERATOR:+-G "$GENERATOR"} \
            -DCMAKE_C_COMPILER="$2" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS_RELEASE=$3" \
            -DTAPEGRAD_BUILD_TESTS=OFF -DTAPEGRAD_BUILD_EXAMPLES=ON &&
            "${CMAKE:-cmake}" --build "$1" --parallel 2 --target train_example
    } >"$1.log" 2>&1 || {
        cat "$1.log" >&2
        echo "same_bits: $2 $3 does not build" >&2
        exit 1
    }
}

# The checksum after training a recipe; "-" where the processor does not run these kernels.
train() { # a build's name, kernels, recipe, seed, steps
    if TAPEGRAD_KERNELS=$2 "$directory/$1/examples/train_example" --recipe "$3" --seed "$4" \
        --steps "$5" --out "$directory/run" --no-plot --quiet >"$directory/log" 2>&1; then
        sed -n 's/.*"parameters_crc32": "\(.*\)".*/\1/p' "$directory/run/summary.json"
    elif grep -q "no kernels \"$2\"" "$directory/log"; then
        echo -
    else
        cat "$directory/log" >&2
        echo "same_bits: $1 with the kernels $2 does not run" >&2
        exit 1
    fi
}

builds=
add() { # a compiler, its options
    command -v "$1" >/dev/null 2>&1 || return 0
    build "$1$2" "$1" "$2"
    builds="$builds $1$2"
}

add gcc -O0
add gcc -O3
add clang -O2
if [ -z "$builds" ]; then
    echo "same_bits: neither gcc nor clang is here" >&2
    exit 1
fi

compared=0
status=0
printf '%-12s %-10s %-8s %10s %6s  %s\n' build kernels recipe seed steps checksum
while read -r recipe seed steps expected || [ -n "$recipe" ]; do
    for name in $builds; do
        for table in $kernels; do
            found=$(train "$name" "$table" "$recipe" "$seed" "$steps")
            verdict=
            if [ "$found" != - ]; then
                compared=$((compared + 1))
                [ "$found" = "$expected" ] || verdict=" is not the published $expected"
            fi
            [ -z "$verdict" ] || status=1
            printf '%-12s %-10s %-8s %10s %6s  %s%s\n' "$name" "$table" "$recipe" "$seed" "$steps" \
                "$found" "$verdict"
        done
    done
done <"$golden"

echo "$compared checksums compared"
[ "$compared" -gt 0 ] || status=1
exit $status
