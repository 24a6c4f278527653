import { type FastifyError, type FastifyInstance, type FastifyReply, fastify } from 'fastify'
import { systemClock } from '../../base/clock.ts'
import { type Account, domainOf, newAccount } from '../service/accounts.ts'
import { ActivityLog, requestRecord } from '../service/activity-log.ts'
import { Authority } from '../service/authority.ts'
import { createClock, FAST_FACTOR } from '../service/clocks.ts'
import { Deliveries } from '../service/deliveries.ts'
import { FaultInjector, presetFaults } from '../service/faults.ts'
import { createGrants } from '../service/grants.ts'
import { RETRY_SCHEDULE_MS, type SandboxOptions } from '../service/options.ts'
import type { SandboxParts } from '../service/parts.ts'
import { eventPayloads, messagePayload } from '../service/payloads.ts'
import { BASE_PATH, Sandbox } from '../service/sandbox.ts'
import { Schedule } from '../service/schedule.ts'
import { Tokens } from '../service/tokens.ts'
import { Unshown } from '../service/unshown.ts'
import { generateAccount } from '../world/generate.ts'
import { Prng } from '../world/prng.ts'
import { Story } from '../world/story.ts'
import { type Action, type News, World } from '../world/world.ts'
import { registerAdmin } from './admin.ts'
import { errorAnswer, send } from './answers.ts'
import { registerApi } from './api.ts'
import { registerOAuth } from './oauth.ts'

const BODY_LIMIT_BYTES = 8 * 1024 * 1024

/**
 * Starts the emulator of the service, on loopback by default: the API below `/api/v1`, signed deliveries, generated data, and control
 * routes below `/_sandbox`.
 * @returns when it listens.
 * @throws z.ZodError for an invalid fault; the error of listening when the port is taken.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const sendError = (error: FastifyError, _request: unknown, reply: FastifyReply) =>
    send(reply, errorAnswer(error.statusCode ?? 500, error.message))
  const app = fastify({ forceCloseConnections: true, bodyLimit: BODY_LIMIT_BYTES, frameworkErrors: sendError })
  app.setErrorHandler(sendError)
  const parts = buildParts(options)
  let origin = ''
  app.setNotFoundHandler((_request, reply) => send(reply, errorAnswer(404, 'Not Found')))
  await app.register(async (api) => registerService(api, parts, options, () => origin), { prefix: BASE_PATH })
  let sandbox: Sandbox | undefined
  await app.register(async (admin) => registerAdmin(admin, () => sandbox), { prefix: '/_sandbox' })
  origin = await app.listen({ host: options.host ?? '127.0.0.1', port: options.port ?? 0 })
  sandbox = new Sandbox({ ...parts, app, origin })
  if (options.autoStart ?? true) sandbox.startStory()
  return sandbox
}

type Parts = Omit<SandboxParts, 'app' | 'origin'>

function buildParts(options: SandboxOptions): Parts {
  const base = options.clock ?? systemClock
  const clock = createClock(options.clockKind ?? 'real', base, base.now(), options.clockFactor ?? FAST_FACTOR)
  const prng = new Prng(options.seed ?? 'sandbox')
  const activity = new ActivityLog(options.observe ?? (() => {}))
  const faults = new FaultInjector(prng.fork('faults'), (fault, context) => activity.notice({ kind: 'fault', fault, context }))
  const initial = options.faults ?? 'none'
  faults.set(typeof initial === 'string' ? presetFaults(initial) : initial)
  const accounts = makeAccounts(prng, options)
  const deliveries = new Deliveries({
    clock,
    accounts,
    prng: prng.fork('deliveries'),
    faults,
    activity,
    signatureHeaders: options.signatureHeaders ?? 'svix',
    retryScheduleMs: options.retryScheduleMs ?? RETRY_SCHEDULE_MS,
    timeoutMs: options.deliveryTimeoutMs ?? 10_000,
  })
  const announce = (news: News) => announceTo(accounts, deliveries, options, news)
  const world = new World({ prng: prng.fork('by hand'), announce, announceLate: options.announceLate ?? false })
  const story = new Story(makeWorld(world, prng, accounts, options, options.startMs ?? clock.now()), {
    world,
    clock,
    speed: options.speed ?? 1,
    onStep: ({ account, submissionId, label }) => activity.notice({ kind: 'step', account, submissionId, label }),
  })
  const schedule = new Schedule(clock, ({ account, submissionId, data, atMs }) => {
    if (world.submissions(account).has(submissionId)) world.play(account, submissionId, data['actions'] as unknown as Action[], atMs)
  })
  const tokens = new Tokens({ clock, prng: prng.fork('tokens'), faults, accounts })
  const unshown = new Unshown(options.unshown)
  const grants = createGrants({ clock, prng: prng.fork('grants'), tokens, accounts, unshown })
  return {
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
    grants,
    unshown,
    authority: new Authority(unshown),
    options,
  }
}

function makeAccounts(prng: Prng, options: SandboxOptions): Map<string, Account> {
  const accounts = options.accounts ?? [{ name: 'default' }]
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

/** Sends news as deliveries, if the account's endpoint subscribes to their types. */
function announceTo(accounts: ReadonlyMap<string, Account>, deliveries: Deliveries, options: SandboxOptions, news: News): void {
  const account = accounts.get(news.account)
  if (!account) return
  const isSubscribed = (type: string) => account.eventTypes.length === 0 || account.eventTypes.includes(type)
  if (news.kind === 'message') {
    if (isSubscribed('message')) deliveries.send(account, news.submissionId, messagePayload(news.submissionId, news.message))
    return
  }
  const events = news.events.filter((event) => isSubscribed(event.type))
  if (events.length === 0) return
  for (const payload of eventPayloads(options.eventsPayload ?? 'events', news.submissionId, events)) {
    deliveries.send(account, news.submissionId, payload)
  }
}

function registerService(api: FastifyInstance, parts: Parts, options: SandboxOptions, origin: () => string): void {
  api.removeAllContentTypeParsers()
  api.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, new URLSearchParams(body.toString()))
  })
  // Accept any other body, so that writes reach the route that records and refuses them.
  api.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  registerApi(api, { ...parts, lists: options.lists ?? false })
  registerOAuth(api, { ...parts, expiresIn: options.expiresIn ?? 'number', origin, baseUrl: () => `${origin()}${BASE_PATH}` })
  api.setNotFoundHandler((request, reply) => {
    parts.activity.request(requestRecord('unknown', request, parts.tokens.callerOf(request.headers.authorization)?.account.name))
    return send(reply, errorAnswer(404, 'Not Found'))
  })
}
