import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import type { CommandContext } from './context.ts'

/**
 * Names of settings of a real service. The emulator refuses to start if one is set. If the settings belong to a sandbox
 * (`isOwn`), only CONFIG_FILE prevents the start.
 */
const PRODUCTION = /^(BROKER_API_.+|WEBHOOK_SECRETS(_FILE)?|CONFIG_FILE)$/

/** @returns true if the settings belong to a sandbox, because the base URL has a loopback host. */
function isOwn({ BROKER_API_BASE_URL: url = '' }: Readonly<Record<string, string | undefined>>): boolean {
  return URL.canParse(url) && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname)
}

const STEERING = `
A fault is an object with a kind and limits: operation, account, submissionId, probability (0 to 1),
count (most times). Example: [{"kind": "status", "status": 429, "retryAfterSeconds": 2, "count": 5}].
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
  of everything   clock_skew (ms, negative when behind)

While it runs, its root page shows its data. Control it with JSON below /_sandbox:
  GET  /overview, /stats, /variants, /faults, /submissions?account=, /truth?account=&submission= (what the service shows now)
  GET  /keys, /users (of ?account=); POST /keys {"label", "scope"}; DELETE /keys/ID, /keys?client_id=
  POST /users    {"email", "role": "admin" or "broker"}
  POST /approve  {"user_code", "email"} approves a device; {..., "deny": true} denies it
  GET  /devices  lists the codes that wait for approval
  GET  /authorize-as?email=&QUERY approves the request with this query of /oauth/authorize, and redirects with the
                 code; without QUERY, approves the latest request; &deny=1 denies it
  POST /programmatic-access {"account", "scopes": [...]} limits the scopes that connected apps may be granted
  GET  /apps?account=, DELETE /apps/ID?account=: connected apps with their sessions
  POST /portal-session {"email"} gives the token of a session in the broker portal
  GET  /deliveries?account=&submission=&limit= (newest first, with outcomes)
  POST /deliveries/ID/resend, /deliveries/ID/lose, /deliveries/next/lose (the next delivery)
  GET  /clock;   POST /clock {"advance_s": 300} lets time pass, with --clock step
  POST /faults   {"preset": "none" or "all"} or {"faults": [...]}, replaces all faults
  POST /story    {"action": "start", "pause" or "step"}
  POST /target   {"account": "default", "target": "http://..." or null, "event_types": ["bound", "message", ...]}; each is optional
  POST /quotes   {"submission_id", "lane_id", "firm": true or false, "total_cents"} releases a quote on a lane
  POST /bind     {"bind_request_id", "to": "sent"} moves a bind request on; bound emits its event and makes a policy
  POST /deliver  {"account": "default", "body": "...", "submissionId": "...", "id": "..."} sends any signed body;
                 submissionId and id are optional
`

/** Adds the command `sandbox [options]`. */
export function addSandbox(program: Command, c: CommandContext): void {
  program
    .command('sandbox')
    .description('run an emulator of the service, with realistic submissions, signed deliveries, and optional faults')
    .option('--host <host>', 'address to listen on (default: 127.0.0.1)')
    .option('--port <port>', 'port to listen on; 0 is any free port (default: 8090)')
    .option('--target <url>', 'URL for signed deliveries of the first brokerage (default: none are sent)')
    .option('--seed <text>', 'seed of all generated data (default: sandbox)')
    .option('--accounts <n>', 'brokerages (default: 1)')
    .option('--submissions <n>', 'submissions per brokerage (default: 12)')
    .option('--speed <n>', 'speed factor of the five-minute story (default: 1)')
    .option('--clock <clock>', 'real, fast (--speed times, default: 60), or step (moves only by POST /_sandbox/clock) (default: real)')
    .option('--story <story>', 'full, or none: no data and no activity except by requests (default: full)')
    .option('--state <file>', 'a file that keeps the data after the process ends (default: none)')
    .option('--faults <faults>', 'none, all, or a JSON list of faults; see below (default: none)')
    .option('--events-payload <layout>', 'layout of submission.events deliveries: events, data, single, ids-only, opaque (default: events)')
    .option('--signature-headers <prefix>', 'svix or webhook (default: svix)')
    .option('--lists', 'serve lists of submissions and insureds, although the specification describes none')
    .option('--json', 'print addresses and credentials as one line of JSON, for programs')
    .option(
      '--variants <choices>',
      'name=value,...: choices that the specification leaves open, mix=SEED for a random mix; GET /_sandbox/variants lists all',
    )
    .option('--retry-schedule <waits>', 'waits between attempts of a delivery in ms, such as 500,1000,2000')
    .option('--paused', 'do not start the story until POST /_sandbox/story')
    .addHelpText('after', STEERING)
    .action(async (options: Record<string, unknown>) => {
      const foreign = isOwn(c.host.env) ? /^CONFIG_FILE$/ : PRODUCTION
      const named = Object.keys(c.host.env).filter((name) => foreign.test(name) && c.host.env[name])
      if (named.length > 0) {
        throw new UsageError([
          `the sandbox does not start while a real service is configured (${named.join(', ')}); unset these settings, or run it elsewhere`,
        ])
      }
      await c.parts.sandbox(options)
    })
}
