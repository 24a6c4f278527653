import { type Clock, systemClock } from '../../base/clock.ts'
import { generateAccount } from '../world/plan.ts'
import { Prng } from '../world/prng.ts'
import { Story } from '../world/story.ts'
import { type News, World } from '../world/world.ts'
import { type Account, domainOf, newAccount } from './accounts.ts'
import { ActivityLog } from './activity-log.ts'
import { Authority } from './authority.ts'
import { createClock, FAST_FACTOR } from './clocks.ts'
import { Deliveries } from './deliveries.ts'
import { FaultInjector, presetFaults } from './faults.ts'
import { createGrants } from './grants.ts'
import { Life } from './life.ts'
import { type AccountOptions, RETRY_SCHEDULE_MS, type SandboxOptions } from './options.ts'
import type { BuiltParts } from './parts.ts'
import { eventPayloads, messagePayload } from './payloads.ts'
import { Schedule } from './schedule.ts'
import { readState, type SavedState, StateFile, type Stateful, type StateOwner } from './state-file.ts'
import { Tokens } from './tokens.ts'
import { Unshown } from './unshown.ts'

const DEFAULT_ACCOUNTS: readonly AccountOptions[] = [{ name: 'default' }]

/**
 * Builds a sandbox without its server, from the seed or its state file.
 * @throws UsageError if the state file has another seed or other accounts.
 */
export function buildParts(options: SandboxOptions): BuiltParts {
  const owner = { seed: options.seed ?? 'sandbox', accounts: (options.accounts ?? DEFAULT_ACCOUNTS).map(({ name }) => name) }
  const saved = options.stateFile === undefined ? null : readState(options.stateFile, owner)
  const clock = clockFor(options, saved)
  const seeded = new Prng(owner.seed)
  // With saved state, each process gets its own random numbers. Otherwise new ids would equal ids of earlier processes.
  const prng = saved ? seeded.fork(`run ${saved.runs}`) : seeded
  let stateFile: StateFile | null = null
  const touch = () => stateFile?.touch()
  const activity = new ActivityLog((notice) => {
    touch()
    options.observe?.(notice)
  })
  const faults = createFaults(prng, activity, options)
  const accounts = makeAccounts(seeded, options)
  const deliveries = new Deliveries({
    clock,
    wallClock: options.clock ?? systemClock,
    accounts,
    prng: prng.fork('deliveries'),
    faults,
    activity,
    signatureHeaders: options.signatureHeaders ?? 'svix',
    retryScheduleMs: options.retryScheduleMs ?? RETRY_SCHEDULE_MS,
    timeoutMs: options.deliveryTimeoutMs ?? 10_000,
    persist: async () => stateFile?.persist(),
  })
  const unshown = new Unshown(options.unshown)
  const announce = (news: News) => {
    touch()
    announceTo(accounts, deliveries, unshown, options, news)
  }
  const world = new World({ prng: prng.fork('by hand'), announce, announceLate: unshown.word('announce_late') === 'yes' })
  const steps = saved ? [] : makeWorld(world, seeded, accounts, options, options.startMs ?? clock.now())
  const story = new Story(steps, {
    world,
    clock,
    speed: options.speed ?? 1,
    onStep: ({ account, submissionId, label }) => activity.notice({ kind: 'step', account, submissionId, label }),
  })
  const schedule: Schedule = new Schedule(clock, (due) => {
    touch()
    life.carryOut(due)
  })
  const life = new Life(world, schedule)
  const tokens = new Tokens({ clock, prng: prng.fork('tokens'), faults, accounts })
  const grants = createGrants({ clock, prng: prng.fork('grants'), seeded: seeded.fork('grants'), tokens, accounts, unshown })
  const parts: BuiltParts = {
    clock,
    prng,
    accounts,
    world,
    story,
    tokens,
    faults,
    deliveries,
    activity,
    schedule,
    life,
    grants,
    unshown,
    authority: new Authority(unshown),
    options,
    stateFile: null,
  }
  stateFile = openStateFile(parts, owner, saved)
  return { ...parts, stateFile }
}

function openStateFile(parts: BuiltParts, owner: StateOwner, saved: SavedState | null): StateFile | null {
  const { clock, options } = parts
  if (options.stateFile === undefined) return null
  const stateful = statefulParts(parts)
  for (const [name, part] of Object.entries(saved ? stateful : {})) part.fromState(saved?.parts[name])
  return new StateFile({ ...owner, path: options.stateFile, runs: (saved?.runs ?? 0) + 1, nowMs: () => clock.now(), parts: stateful })
}

function createFaults(prng: Prng, activity: ActivityLog, options: SandboxOptions): FaultInjector {
  const faults = new FaultInjector(prng.fork('faults'), (fault, context) => activity.notice({ kind: 'fault', fault, context }))
  const initial = options.faults ?? 'none'
  faults.set(typeof initial === 'string' ? presetFaults(initial) : initial)
  return faults
}

function clockFor(options: SandboxOptions, saved: SavedState | null): Clock {
  const base = options.clock ?? systemClock
  const kind = options.clockKind ?? 'real'
  const startMs = saved === null ? base.now() : kind === 'step' ? saved.nowMs : Math.max(saved.nowMs, base.now())
  return createClock(kind, base, startMs, options.clockFactor ?? FAST_FACTOR)
}

function makeAccounts(prng: Prng, options: SandboxOptions): Map<string, Account> {
  const accounts = options.accounts ?? DEFAULT_ACCOUNTS
  return new Map(accounts.map((account, index) => [account.name, newAccount(prng.fork(`account ${account.name}`), account, index)]))
}

function makeWorld(world: World, prng: Prng, accounts: ReadonlyMap<string, Account>, options: SandboxOptions, startMs: number) {
  const numbers = new Map((options.accounts ?? []).map((account) => [account.name, account.submissions]))
  return [...accounts.values()].flatMap((account) => {
    world.addAccount(account.name)
    const brokerageDomain = domainOf(account.brokerage.name)
    const submissions = numbers.get(account.name) ?? options.submissions ?? 12
    return generateAccount(world, prng.fork(`world ${account.name}`), { account: account.name, brokerageDomain, submissions, startMs })
  })
}

function announceTo(
  accounts: ReadonlyMap<string, Account>,
  deliveries: Deliveries,
  unshown: Unshown,
  options: SandboxOptions,
  news: News,
): void {
  const account = accounts.get(news.account)
  if (!account) return
  const isSubscribed = (type: string) => account.eventTypes.length === 0 || account.eventTypes.includes(type)
  if (news.kind === 'message') {
    if (isSubscribed('message')) deliveries.send(account, news.submissionId, messagePayload(news.submissionId, news.message, unshown))
    return
  }
  const events = news.events.filter((event) => isSubscribed(event.type))
  if (events.length === 0) return
  for (const payload of eventPayloads(options.eventsPayload ?? 'events', news.submissionId, events, unshown)) {
    deliveries.send(account, news.submissionId, payload)
  }
}

/**
 * Parts that are saved in the state file, by name, in the order in which they are restored. `accounts` is first,
 * because other parts refer to accounts. `deliveries` is last, because its restored deliveries are sent immediately. If
 * the shape of a part changes, increase `STATE_VERSION` in state-file.ts.
 */
function statefulParts(parts: BuiltParts): Readonly<Record<string, Stateful>> {
  const { accounts, deliveries, grants, options, schedule, story, tokens, world } = parts
  return {
    accounts: accountsState(accounts, options),
    tokens,
    sessions: grants.sessions,
    codes: grants.authorizations,
    devices: grants.devices,
    world,
    story,
    schedule: {
      toState: () => schedule.pending(),
      fromState: (entries: Parameters<typeof schedule.restore>[0]) => schedule.restore(entries),
    },
    deliveries,
  }
}

type Saved = Omit<Account, 'eventTypes'> & Partial<Pick<Account, 'eventTypes'>>

/** Saves and restores accounts. An endpoint or event types in the options replace the saved values. */
function accountsState(accounts: ReadonlyMap<string, Account>, options: SandboxOptions) {
  return {
    toState(): Saved[] {
      return [...accounts.values()]
    },
    fromState(saved: readonly Saved[]): void {
      for (const { name, credentials, readOnly, partner, users, target, eventTypes, ...rest } of saved) {
        const account = accounts.get(name)
        if (!account) throw new RangeError(`no account ${name}`)
        account.credentials.splice(0, Infinity, ...credentials)
        account.users.splice(0, Infinity, ...users)
        Object.assign(account.readOnly, readOnly)
        Object.assign(account.partner, partner)
        const given = options.accounts?.find((other) => other.name === name)
        Object.assign(account, rest, { target: given?.target ?? target, eventTypes: given?.eventTypes ?? eventTypes ?? [] })
      }
    },
  }
}
