#!/bin/sh
# Prints one hash over everything in this directory: the recipe, and with it what the artefact is made from.
# PROVENANCE.json records it, so anyone can see whether the artefact belongs to this recipe.
set -eu
cd "$(dirname "$0")"
find . -type f ! -path '*/__pycache__/*' | LC_ALL=C sort | while IFS= read -r f; do
  printf '%s  %s\n' "$(sha256sum < "$f" | cut -d' ' -f1)" "$f"
done | sha256sum | cut -d' ' -f1
