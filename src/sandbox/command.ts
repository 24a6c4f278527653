import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { parseJson, targetUrl } from './http/admin.ts'
import { startSandbox } from './http/server.ts'
import { type FaultInput, faultSchema, presets } from './service/faults.ts'
import type { Notice } from './service/logbook.ts'
import { eventsPayloads } from './service/options.ts'
import type { Sandbox } from './service/sandbox.ts'

/** The options of `submission-mirror sandbox`, as they come from the command line: text is turned into what it means. */
export const sandboxCommandSchema = z.strictObject({
  /** Where to listen; 0 is any free port. */
  host: z.string().default('127.0.0.1'),
  port: z.coerce.number().int().min(0).max(65_535).default(8_090),
  /** Where signed deliveries of the first account are posted; none are sent without it. */
  target: targetUrl.optional(),
  /** Everything made up follows from it. */
  seed: z.string().default('sandbox'),
  /** Brokerages; the first is named `default`, the others `brokerage-2` and so on. */
  accounts: z.coerce.number().int().min(1).max(20).default(1),
  /** Submissions of each. */
  submissions: z.coerce.number().int().min(0).max(100_000).default(12),
  /** How many times as fast as written the story of five minutes is told. */
  speed: z.coerce.number().positive().max(10_000).default(1),
  /** `none`, `all`, or a JSON list of faults. */
  faults: z.string().transform(readFaults).default('none'),
  /** The layout of `submission.events` deliveries. */
  eventsPayload: z.enum(eventsPayloads).default('events'),
  /** First part of the signature headers' names. */
  signatureHeaders: z.enum(['svix', 'webhook']).default('svix'),
  /** Whether submissions and insureds are listed, which the service does not describe. */
  lists: z.boolean().default(false),
  /** Whether the story waits until it is started by `POST /_sandbox/story`. */
  paused: z.boolean().default(false),
})

export type SandboxCommandOptions = z.output<typeof sandboxCommandSchema>

function readFaults(text: string, context: z.RefinementCtx): (typeof presets)[number] | FaultInput[] {
  const preset = presets.find((name) => name === text)
  if (preset) return preset
  const list = parseJson(text)
  const faults = z.array(faultSchema).safeParse(list)
  if (faults.success) return faults.data
  // Of one line, like every problem of a command line.
  const why = list === undefined ? '' : `; ${z.prettifyError(faults.error).replace(/\s+/g, ' ')}`
  context.addIssue({ code: 'custom', message: `must be ${presets.join(', ')} or a JSON list of faults${why}` })
  return z.NEVER
}

export interface SandboxCommandContext {
  readonly log: Log
  readonly clock: Clock
  /** Ends the command. */
  readonly signal: AbortSignal
  /** Writes one line for people. */
  readonly print: (line: string) => void
}

/**
 * Serves the emulator until the signal aborts. What it prints lets a mirror be pointed at it; the secrets are the
 * sandbox's own, made up from the seed, and open nothing else.
 */
export async function runSandbox(options: SandboxCommandOptions, context: SandboxCommandContext): Promise<void> {
  const { accounts, faults, paused, target, ...same } = options
  const names = Array.from({ length: accounts }, (_, index) => (index === 0 ? 'default' : `brokerage-${index + 1}`))
  const sandbox = await startSandbox({
    ...same,
    clock: context.clock,
    accounts: names.map((name, index) => ({ name, ...(index === 0 && target !== undefined && { target }) })),
    faults,
    autoStart: !paused,
    observe: (notice) => logNotice(context.log, notice),
  })
  try {
    describe(sandbox, context.print)
    if (!context.signal.aborted) await new Promise((resolve) => context.signal.addEventListener('abort', resolve, { once: true }))
  } finally {
    await sandbox.close()
  }
}

function describe(sandbox: Sandbox, print: (line: string) => void): void {
  print(`The sandbox listens; steer it below ${sandbox.origin}/_sandbox`)
  print(`BROKER_API_BASE_URL=${sandbox.baseUrl}`)
  for (const name of sandbox.accountNames) {
    const { brokerage, credentials, target, webhookSecret } = sandbox.account(name)
    print(`# account ${name}: ${brokerage.name}, ${sandbox.submissionIds(name).length} submissions, deliveries to ${target ?? 'nowhere'}`)
    for (const { clientId, clientSecret } of credentials) {
      print(`BROKER_API_CLIENT_ID=${clientId}`)
      print(`BROKER_API_CLIENT_SECRET=${clientSecret}`)
    }
    print(`WEBHOOK_SECRETS=${webhookSecret}`)
  }
}

function logNotice(log: Log, notice: Notice): void {
  if (notice.kind === 'step') log.info({ account: notice.account, submission: notice.submissionId }, notice.label)
  else if (notice.kind === 'fault') log.debug({ fault: notice.fault.kind, ...notice.occasion }, 'fault')
  else {
    const { account, deliveryId, itemIds, outcome, submissionId, type } = notice
    log[outcome === 'acknowledged' ? 'debug' : 'info'](
      { account, submission: submissionId, delivery: deliveryId, type, items: itemIds },
      `delivery ${outcome}`,
    )
  }
}
