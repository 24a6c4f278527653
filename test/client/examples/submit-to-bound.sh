#!/usr/bin/env bash
#
# Takes a submission from its creation to `bound` with curl. Start an emulator with a manual clock:
#
#   npx node src/main.ts sandbox --story none --clock step
#
# and set BASE_URL, ADMIN_URL, CLIENT_ID, CLIENT_SECRET and PRODUCER_EMAIL. Each step prints a line.
# FOLLOW=yes waits for a line of standard input after each step, so that you can look at the mirror.
#
set -euo pipefail
: "${BASE_URL:?}" "${ADMIN_URL:?}" "${CLIENT_ID:?}" "${CLIENT_SECRET:?}" "${PRODUCER_EMAIL:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Evaluates an expression over `it`, the JSON on standard input.
pick() { node -e "const it = JSON.parse(require('fs').readFileSync(0, 'utf8')); console.log($1)"; }

# ask STATUS METHOD PATH [curl arguments]: prints the body of the answer. Another status ends the script.
ask() {
  local wanted=$1 method=$2 path=$3 status
  shift 3
  status=$(curl -sS -o "$work/answer" -w '%{http_code}' -X "$method" -H "Authorization: Bearer $TOKEN" "$@" "$BASE_URL$path")
  if [ "$status" != "$wanted" ]; then
    echo "$method $path answered $status instead of $wanted: $(cat "$work/answer")" >&2
    exit 1
  fi
  cat "$work/answer"
}
get() { ask 200 GET "$1"; }
send() { ask "$1" POST "$2" -H 'Content-Type: application/json' -d "$3"; }
# Controls the emulator: time, quotes, and bind requests.
admin() { curl -sS --fail-with-body -X POST -H 'Content-Type: application/json' -d "$2" "$ADMIN_URL$1"; }
let_pass() { admin /clock "{\"advance_s\": $1}" > "$work/clock"; }

step() {
  echo "$1"
  if [ "${FOLLOW:-no}" = yes ]; then read -r; fi
}
expect() {
  if [ "$1" != "$2" ]; then
    echo "expected $2, got $1" >&2
    exit 1
  fi
}

TOKEN=$(curl -sS --fail-with-body "$BASE_URL/oauth/token" \
  -d grant_type=client_credentials -d "client_id=$CLIENT_ID" --data-urlencode "client_secret=$CLIENT_SECRET" | pick it.access_token)
producer="\"producer_email\": \"$PRODUCER_EMAIL\""

# Created on hold, so that documents can be attached first.
created=$(send 200 /broker/submissions "{
  \"applicant\": {
    \"insured_name\": \"Harrow Roofing LLC\",
    \"contact_email\": \"$PRODUCER_EMAIL\",
    \"mailing_address\": {\"line1\": \"12 Mill Lane\", \"city\": \"Austin\", \"state\": \"TX\", \"zip\": \"78701\"}
  },
  \"narrative\": \"Repairs and replaces roofs of one- and two-storey houses.\",
  \"lines_of_business\": [\"gl\"],
  \"primary_state\": \"tx\",
  \"hold\": true,
  $producer
}")
id=$(pick 'it.submission_id ?? it.id' <<< "$created")
step "created $id"

printf '%%PDF-1.7\nloss runs\n%%%%EOF\n' > "$work/loss-runs.pdf"
document=$(ask 200 POST "/broker/submissions/$id/documents" \
  -F "file=@$work/loss-runs.pdf;type=application/pdf" -F 'display_name=Loss runs 2026' -F "producer_email=$PRODUCER_EMAIL" | pick it.id)
step "uploaded $document"

marketing=$(ask 200 POST "/broker/submissions/$id/finalize" | pick it.marketing_status)
expect "$marketing" matching
step 'finalized'

let_pass 300
expect "$(get "/broker/submissions/$id/requirements" | pick it.marketing_status)" matched
step 'matched'

# Answers numbers, and choices by their first option.
answers=$(get "/broker/submissions/$id/outstanding-requirements" | pick 'JSON.stringify(it.items.flatMap(({ key, input, options }) =>
  input === "number" ? [{ key, value: 500000 }] : options?.length ? [{ key, value: options[0].value }] : []))')
applied=$(send 200 "/broker/submissions/$id/outstanding-requirements/answers" "{\"answers\": $answers, $producer}" | pick it.applied.length)
step "answered $applied"

send 200 "/broker/submissions/$id/thread" "{\"body\": \"The loss runs are attached.\", \"document_ids\": [\"$document\"], $producer}" > "$work/post"
let_pass 180
replies=$(get "/broker/submissions/$id/thread" | pick 'it.messages.filter(({ direction, channel, kind }) => direction === "outbound").length > 0')
expect "$replies" true
step 'replied'

quoted=$(get "/broker/submissions/$id/requirements" |
  pick 'it.rail.lanes.filter(({ quotes }) => quotes.length).map(({ quotes }) => quotes.at(-1).quote_id)[0]')
step "quoted $quoted"

# The instant quote is based on assumptions, so the first answer is 409 with a draft.
binds=/broker/submissions/$id/bind-requests
draft=$(send 409 "$binds" "{\"quote_id\": \"$quoted\", $producer}" | pick it.detail.bind_request_id)
step "drafted $draft"

attested=$(send 200 "$binds" "{\"quote_id\": \"$quoted\", \"attest_assumptions\": true, $producer}")
expect "$(pick it.bind_request_id <<< "$attested")" "$draft"
step 'attested'

pick 'it.contingencies.map(({ upload_path }) => upload_path).join("\n")' <<< "$attested" > "$work/paths"
while read -r path; do
  ask 200 POST "$path" -F "file=@$work/loss-runs.pdf;type=application/pdf" -F "producer_email=$PRODUCER_EMAIL" > "$work/uploaded"
done < "$work/paths"
expect "$(pick 'it.contingencies.every(({ status }) => status === "satisfied")' < "$work/uploaded")" true
step 'satisfied'

for status in submitted sent binder_received bound; do
  admin /bind "{\"bind_request_id\": \"$draft\", \"to\": \"$status\"}" > "$work/moved"
  let_pass 60
  expect "$(get "$binds/$draft" | pick it.status)" "$status"
  step "$status"
done

policy=$(get "$binds/$draft" | pick it.policy_id)
get "/broker/policies/$policy" > "$work/policy"
insured=$(pick it.insured_id < "$work/policy")
get "/broker/insureds/$insured" > "$work/insured"
get "$(pick 'it.documents[0].download_path' < "$work/policy")" | head -c 5 > "$work/begin"
expect "$(cat "$work/begin")" '%PDF-'
expect "$(get "/broker/submissions/$id/events" | pick 'it.events.at(-1).type')" bound
step "policy $policy"
