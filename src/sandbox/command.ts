import { z } from 'zod'
import { whenAborted } from '../base/abortable.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { parseJson, targetUrl } from './http/admin.ts'
import { startSandbox } from './http/server.ts'
import { type Credential, producerOf } from './service/accounts.ts'
import type { Notice } from './service/activity-log.ts'
import { clockKinds } from './service/clocks.ts'
import { type FaultInput, faultSchema, presets } from './service/faults.ts'
import { eventsPayloads } from './service/options.ts'
import type { Sandbox } from './service/sandbox.ts'
import { parseUnshown, type UnshownInput } from './service/unshown.ts'

/** Schema of the options of `submission-mirror sandbox`. Converts the texts of the command line to values. */
export const sandboxCommandSchema = z.strictObject({
  host: z.string().default('127.0.0.1'),
  /** With port 0, the system chooses a free port. */
  port: z.coerce.number().int().min(0).max(65_535).default(8_090),
  /** URL that gets the first account's signed deliveries. Without a URL, no deliveries are sent. */
  target: targetUrl.optional(),
  seed: z.string().default('sandbox'),
  /** Number of brokerages. Their accounts are named `default`, `brokerage-2`, and so on. */
  accounts: z.coerce.number().int().min(1).max(20).default(1),
  /** Number of submissions of each account. */
  submissions: z.coerce.number().int().min(0).max(100_000).default(12),
  /** With `step`, only `POST /_sandbox/clock` advances the clock. */
  clock: z.enum(clockKinds).default('real'),
  /**
   * With `--clock fast`, the speed of the clock (default 60). Otherwise, the speed of the story, which takes five
   * minutes at the default of 1.
   */
  speed: z.coerce.number().positive().max(10_000).optional(),
  /** With `none`, there are no submissions at first, and only requests change the data. */
  story: z.enum(['full', 'none']).default('full'),
  faults: z.string().transform(readFaults).default('none'),
  eventsPayload: z.enum(eventsPayloads).default('events'),
  signatureHeaders: z.enum(['svix', 'webhook']).default('svix'),
  /** Whether to offer lists of submissions and insureds. The specification doesn't define these lists. */
  lists: z.boolean().default(false),
  /** File that keeps the sandbox's state between runs. */
  state: z.string().min(1).optional(),
  /** Whether to print the addresses and credentials as one line of JSON. */
  json: z.boolean().default(false),
  /**
   * `name=value,…`: sets choices that the specification leaves open. `mix=SEED` sets all other choices at random,
   * except numbers.
   */
  variants: z.string().transform(readVariants).optional(),
  /**
   * Waits in ms between attempts of a delivery, such as `500,1000,2000`. After the last attempt,
   * the delivery is dead-lettered.
   */
  retrySchedule: z.string().transform(readWaits).optional(),
  /** Whether the story starts only after `POST /_sandbox/story`. */
  paused: z.boolean().default(false),
})

export type SandboxCommandOptions = z.output<typeof sandboxCommandSchema>

function readFaults(text: string, context: z.RefinementCtx): (typeof presets)[number] | FaultInput[] {
  const preset = presets.find((name) => name === text)
  if (preset) return preset
  const list = parseJson(text)
  const faults = z.array(faultSchema).safeParse(list)
  if (faults.success) return faults.data
  // Puts the reason on one line, because a command-line problem is printed as a single line.
  const reason = list === undefined ? '' : `; ${z.prettifyError(faults.error).replace(/\s+/g, ' ')}`
  context.addIssue({ code: 'custom', message: `must be ${presets.join(', ')} or a JSON list of faults${reason}` })
  return z.NEVER
}

function readWaits(text: string, context: z.RefinementCtx): number[] {
  const waits = text.split(',').map((wait) => wait.trim())
  if (waits.every((wait) => /^\d{1,9}$/.test(wait))) return waits.map(Number)
  context.addIssue({ code: 'custom', message: 'must be whole numbers of milliseconds, such as 500,1000,2000' })
  return z.NEVER
}

function readVariants(text: string, context: z.RefinementCtx): UnshownInput {
  try {
    return parseUnshown(text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    context.addIssue({ code: 'custom', message: error.message })
    return z.NEVER
  }
}

export interface SandboxCommandContext {
  readonly log: Log
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly print: (line: string) => void
}

/**
 * Runs the emulator until the signal aborts. Prints the settings that a mirror needs to connect. All secrets derive
 * from the seed.
 */
export async function runSandbox(options: SandboxCommandOptions, context: SandboxCommandContext): Promise<void> {
  const { accounts, clock, faults, json, paused, retrySchedule, speed, state, story, submissions, target, variants, ...rest } = options
  const names = Array.from({ length: accounts }, (_, index) => (index === 0 ? 'default' : `brokerage-${index + 1}`))
  const sandbox = await startSandbox({
    ...rest,
    clock: context.clock,
    clockKind: clock,
    ...(speed !== undefined && (clock === 'fast' ? { clockFactor: speed } : { speed })),
    submissions: story === 'none' ? 0 : submissions,
    accounts: names.map((name, index) => ({ name, ...(index === 0 && target !== undefined && { target }) })),
    faults,
    ...(variants && { unshown: variants }),
    ...(retrySchedule && { retryScheduleMs: retrySchedule }),
    ...(state !== undefined && { stateFile: state }),
    autoStart: !paused,
    observe: (notice) => logNotice(context.log, notice),
  })
  try {
    if (json) context.print(JSON.stringify(connectionOf(sandbox)))
    else printConnection(sandbox, context.print)
    await whenAborted(context.signal)
  } finally {
    await sandbox.close()
  }
}

function connectionOf(sandbox: Sandbox) {
  const pair = ({ clientId, clientSecret }: Credential) => ({ client_id: clientId, client_secret: clientSecret })
  const accounts = sandbox.accountNames.map((name) => {
    const account = sandbox.account(name)
    return {
      name,
      brokerage: account.brokerage,
      ...pair(account.credentials[0] as Credential),
      webhook_secret: account.webhookSecret,
      producer_email: producerOf(account),
      partner: pair(account.partner),
      read_only: pair(account.readOnly),
    }
  })
  return { base_url: sandbox.baseUrl, admin_url: `${sandbox.origin}/_sandbox`, page_url: `${sandbox.origin}/`, accounts }
}

function printConnection(sandbox: Sandbox, print: (line: string) => void): void {
  print(`Sandbox ready. Control it with requests to ${sandbox.origin}/_sandbox`)
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
  else if (notice.kind === 'fault') log.debug({ fault: notice.fault.kind, ...notice.context }, 'fault')
  else {
    const { account, deliveryId, itemIds, outcome, submissionId, type } = notice
    log[outcome === 'acknowledged' ? 'debug' : 'info'](
      { account, submission: submissionId, delivery: deliveryId, type, items: itemIds },
      `delivery ${outcome}`,
    )
  }
}
