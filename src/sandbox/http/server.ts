import { type FastifyError, type FastifyInstance, type FastifyReply, fastify } from 'fastify'
import { systemClock } from '../../base/clock.ts'
import { type Account, newAccount } from '../service/accounts.ts'
import { Deliveries } from '../service/deliveries.ts'
import { FaultBook, presetFaults } from '../service/faults.ts'
import { Logbook, seen } from '../service/logbook.ts'
import type { SandboxOptions } from '../service/options.ts'
import { layOutEvents, messagePayload } from '../service/payloads.ts'
import { BASE_PATH, Sandbox, type SandboxParts } from '../service/sandbox.ts'
import { Tokens } from '../service/tokens.ts'
import { generateAccount } from '../world/generate.ts'
import { Prng } from '../world/prng.ts'
import { Story } from '../world/story.ts'
import { type News, World } from '../world/world.ts'
import { registerAdmin } from './admin.ts'
import { refusal, send } from './answers.ts'
import { registerApi } from './api.ts'
import { registerOAuth } from './oauth.ts'

const RETRY_SCHEDULE_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000]
const BODY_LIMIT_BYTES = 8 * 1024 * 1024

/**
 * Starts the emulator of the service on loopback: its API below `/api/v1`, its signed deliveries, a made-up world, and
 * `/_sandbox/…` to steer it by.
 * @returns when it listens.
 * @throws z.ZodError for a fault that is none; whatever listening throws when the port is taken.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const refuse = (error: FastifyError, _request: unknown, reply: FastifyReply) =>
    send(reply, refusal(error.statusCode ?? 500, error.message))
  const app = fastify({ forceCloseConnections: true, bodyLimit: BODY_LIMIT_BYTES, frameworkErrors: refuse })
  app.setErrorHandler(refuse)
  const parts = buildParts(options)
  let origin = ''
  app.setNotFoundHandler((_request, reply) => send(reply, refusal(404, 'Not Found')))
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
  const clock = options.clock ?? systemClock
  const prng = new Prng(options.seed ?? 'sandbox')
  const logbook = new Logbook(options.observe ?? (() => {}))
  const faults = new FaultBook(prng.fork('faults'), (fault, occasion) => logbook.notice({ kind: 'fault', fault, occasion }))
  const wanted = options.faults ?? 'none'
  faults.set(typeof wanted === 'string' ? presetFaults(wanted) : wanted)
  const deliveries = new Deliveries({
    clock,
    prng: prng.fork('deliveries'),
    faults,
    logbook,
    signatureHeaders: options.signatureHeaders ?? 'svix',
    retryScheduleMs: options.retryScheduleMs ?? RETRY_SCHEDULE_MS,
    timeoutMs: options.deliveryTimeoutMs ?? 10_000,
  })
  const accounts = makeAccounts(prng, options)
  const announce = (news: News) => announceTo(accounts, deliveries, options, news)
  const world = new World({ prng: prng.fork('by hand'), announce, announceLate: options.announceLate ?? false })
  const story = new Story(makeWorld(world, prng, accounts, options, options.startMs ?? clock.now()), {
    world,
    clock,
    speed: options.speed ?? 1,
    onStep: ({ account, submissionId, label }) => logbook.notice({ kind: 'step', account, submissionId, label }),
  })
  const tokens = new Tokens({ clock, prng: prng.fork('tokens'), faults, accounts })
  return { clock, prng, accounts, world, story, tokens, faults, deliveries, logbook }
}

function makeAccounts(prng: Prng, options: SandboxOptions): Map<string, Account> {
  const accounts = options.accounts ?? [{ name: 'default' }]
  return new Map(accounts.map((account, index) => [account.name, newAccount(prng.fork(`account ${account.name}`), account, index)]))
}

function makeWorld(world: World, prng: Prng, accounts: ReadonlyMap<string, Account>, options: SandboxOptions, startMs: number) {
  const numbers = new Map((options.accounts ?? []).map((account) => [account.name, account.submissions]))
  return [...accounts.values()].flatMap((account) => {
    world.addAccount(account.name)
    const brokerageDomain = `${account.brokerage.name.toLowerCase().replace(/[^a-z]+/g, '-')}.invalid`
    const submissions = numbers.get(account.name) ?? options.submissions ?? 12
    return generateAccount(world, prng.fork(`world ${account.name}`), { account: account.name, brokerageDomain, submissions, startMs })
  })
}

/** Turns news into deliveries, as far as the account's endpoint asks for them. */
function announceTo(accounts: ReadonlyMap<string, Account>, deliveries: Deliveries, options: SandboxOptions, news: News): void {
  const account = accounts.get(news.account)
  if (!account) return
  const wants = (type: string) => account.eventTypes.length === 0 || account.eventTypes.includes(type)
  if (news.kind === 'message') {
    if (wants('message')) deliveries.send(account, news.submissionId, messagePayload(news.submissionId, news.message))
    return
  }
  const events = news.events.filter((event) => wants(event.type))
  if (events.length === 0) return
  for (const payload of layOutEvents(options.eventsPayload ?? 'events', news.submissionId, events)) {
    deliveries.send(account, news.submissionId, payload)
  }
}

function registerService(api: FastifyInstance, parts: Parts, options: SandboxOptions, origin: () => string): void {
  api.removeAllContentTypeParsers()
  api.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, new URLSearchParams(body.toString()))
  })
  // Whatever else is sent is taken, so that a write is seen and refused by its own route.
  api.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  registerApi(api, { ...parts, lists: options.lists ?? false })
  registerOAuth(api, { ...parts, expiresIn: options.expiresIn ?? 'number', baseUrl: () => `${origin()}${BASE_PATH}` })
  api.setNotFoundHandler((request, reply) => {
    parts.logbook.request(seen('unknown', request, parts.tokens.callerOf(request.headers.authorization)?.account.name))
    return send(reply, refusal(404, 'Not Found'))
  })
}
