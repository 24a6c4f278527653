import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import type { CommandContext } from './context.ts'

/** Settings of a real service: starting the emulator with them is a mistake. */
const PRODUCTION = /^(BROKER_API_.+|WEBHOOK_SECRETS(_FILE)?|CONFIG_FILE)$/

/** Whether the settings are those that a sandbox printed: a base URL on loopback is no real service. */
function isOwn({ BROKER_API_BASE_URL: url = '' }: Readonly<Record<string, string | undefined>>): boolean {
  return URL.canParse(url) && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname)
}

const STEERING = `
A fault is an object with its kind, and what limits it: operation, account, submissionId, probability (0 to 1),
count (how often at most). Such as [{"kind": "status", "status": 429, "retryAfterSeconds": 2, "count": 5}].
  of answers      status (status; body: json, html, empty; retryAfterSeconds; retryAfterAs: seconds, date),
                  html, cut, hang (ms), slow (ms)
                  in the operations token, metadata, authorize, device, register, me, events, thread, requirements,
                  outstanding, workspace, sessions, bind_request, policy, insured, document, forms, appetite, extra,
                  list, write
  of feed pages   invalid_cursor, stuck_cursor, no_next_cursor (on the last page), empty_page, short_page
  of tokens       token_dies_early (ms)
  of documents    pdf_unavailable
  of checkpoints  application_busy
  of deliveries   lose, duplicate, twin (the same under two ids), reorder (ms), delay (ms)
  of all          clock_skew (ms, negative when behind)

While it runs, a page at its root shows its world. It is steered below /_sandbox, by JSON:
  GET  /overview, /stats, /variants, /faults, /submissions?account=, /truth?account=&submission= (what the service shows now)
  GET  /keys, /users (of ?account=); POST /keys {"label", "scope"}; DELETE /keys/ID, /keys?client_id=
  POST /users    {"email", "role": "admin" or "broker"}
  POST /approve  {"user_code", "email"} approves a device; {..., "deny": true} does not
  GET  /devices  lists the codes that wait for somebody
  GET  /authorize-as?email=& and the query of /oauth/authorize, or without it the latest request: approves it,
                 answered by the redirect with the code; &deny=1 does not
  POST /programmatic-access {"account", "scopes": [...]}: what connected apps may be granted at most
  GET  /apps?account=, DELETE /apps/ID?account=: connected apps with their sessions
  POST /portal-session {"email"} gives the token of a session in the broker portal
  GET  /deliveries?account=&submission=&limit= (the latest first, with their outcomes)
  POST /deliveries/ID/resend, /deliveries/ID/lose, /deliveries/next/lose (the next one that there will be)
  GET  /clock;   POST /clock {"advance_s": 300} lets time pass, with --clock step
  POST /faults   {"preset": "none" or "all"} or {"faults": [...]}, in the place of those before
  POST /story    {"action": "start", "pause" or "step"}
  POST /target   {"account": "default", "target": "http://..." or null, "event_types": ["bound", "message", ...]}; either will do
  POST /quotes   {"submission_id", "lane_id", "firm": true or false, "total_cents"} releases a quote on a lane
  POST /bind     {"bind_request_id", "to": "sent"} moves a bind request on; bound emits its event and makes a policy
  POST /deliver  {"account": "default", "body": "...", "submissionId": "...", "id": "..."} sends any body, signed;
                 the last two may be left out
`

/** `sandbox [options]` */
export function addSandbox(program: Command, c: CommandContext): void {
  program
    .command('sandbox')
    .description('run an emulator of the service, with believable submissions, signed deliveries, and faults if wanted')
    .option('--host <host>', 'where to listen (default: 127.0.0.1)')
    .option('--port <port>', 'where to listen; 0 is any free port (default: 8090)')
    .option('--target <url>', 'where signed deliveries of the first brokerage are posted; none are sent without it')
    .option('--seed <text>', 'everything made up follows from it (default: sandbox)')
    .option('--accounts <n>', 'brokerages (default: 1)')
    .option('--submissions <n>', 'submissions of each (default: 12)')
    .option('--speed <n>', 'how many times as fast as written the story of five minutes is told (default: 1)')
    .option('--clock <clock>', 'real, fast (--speed times, default: 60), or step: by POST /_sandbox/clock alone (default: real)')
    .option('--story <story>', 'full, or none: an empty, quiet world that only requests move (default: full)')
    .option('--state <file>', 'a file in which the world outlives the process (default: none)')
    .option('--faults <faults>', 'none, all, or a JSON list of faults; see below (default: none)')
    .option(
      '--events-payload <layout>',
      'how submission.events deliveries are laid out: events, data, single, ids-only, opaque (default: events)',
    )
    .option('--signature-headers <prefix>', 'svix or webhook (default: svix)')
    .option('--lists', 'submissions and insureds are listed, which the service does not describe')
    .option('--json', 'print one line of JSON when it listens: addresses and credentials, for programs')
    .option(
      '--variants <choices>',
      'name=value,...: other choices where the specification leaves one, mix=SEED for a random mix; GET /_sandbox/variants lists all',
    )
    .option('--retry-schedule <waits>', 'waits between the attempts of a delivery, in ms, such as 500,1000,2000')
    .option('--paused', 'the story waits for POST /_sandbox/story')
    .addHelpText('after', STEERING)
    .action(async (options: Record<string, unknown>) => {
      const foreign = isOwn(c.host.env) ? /^CONFIG_FILE$/ : PRODUCTION
      const named = Object.keys(c.host.env).filter((name) => foreign.test(name) && c.host.env[name])
      if (named.length > 0) {
        throw new UsageError([
          `the sandbox does not start where a real service is configured (${named.join(', ')}); unset that, or run it elsewhere`,
        ])
      }
      await c.parts.sandbox(options)
    })
}
