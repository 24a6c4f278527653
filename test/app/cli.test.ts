import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fastify } from 'fastify'
import { afterAll, describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { systemClock } from '../../src/base/clock.ts'
import { commands } from '../../src/ops/cli/commands.ts'
import { runCli } from '../../src/ops/cli/program.ts'
import { registerAdmin } from '../../src/sandbox/http/admin.ts'
import { registerLifeAdmin } from '../../src/sandbox/http/admin-life.ts'
import { adminRoutes } from '../../src/sandbox/http/admin-routes.ts'
import { faultSchema, operations } from '../../src/sandbox/service/faults.ts'
import { Unshown } from '../../src/sandbox/service/unshown.ts'
import { run, runHere } from './run.ts'

const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-cli-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const account = {
  BROKER_API_BASE_URL: 'https://service.example/api/v1',
  BROKER_API_CLIENT_ID: 'bac_test',
  BROKER_API_CLIENT_SECRET: 'a-client-secret-of-the-test',
  WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
}
const database = { DATABASE_URL: `sqlite:${join(folder, 'mirror.db')}` }

describe('the command line', () => {
  it('prints its version and its help on standard output, and exits with 0', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, out: `${packageJson.version}\n`, err: '' })
    for (const way of ['-V', 'version']) expect((await runHere([way], {})).out).toBe(`${packageJson.version}\n`)
    const help = await runHere(['--help'], {})
    expect(help).toMatchObject({ code: 0, err: '' })
    for (const way of [['-h'], ['help']]) expect(await runHere(way, {})).toEqual(help)
    for (const command of Object.keys(commands)) expect(help.out).toMatch(new RegExp(`^ {2}${command}\\b`, 'm'))
    expect(help.out.match(/^\w+:$/gm)).toEqual(['Options:', 'Run:', 'Look:', 'Repair:', 'Move:', 'Develop:', 'Help:'])
    const retry = await runHere(['outbox', 'retry', '--help'], {})
    expect(retry.out).toMatch(/^Usage: submission-mirror outbox retry/)
    expect(await runHere(['help', 'outbox', 'retry'], {})).toEqual(retry)
  })

  it.each(Object.entries(commands))('shows two or three examples of %s, which it would take', async (name, { examples }) => {
    expect([2, 3]).toContain(examples.length)
    const help = await runHere([name, '--help'], {})
    for (const example of examples) {
      expect(help.out).toContain(`\n  submission-mirror ${example}\n`)
      const words = example.split(' ').filter((word) => !/^[<>]/.test(word))
      const { code, out, err } = await runHere([...words.slice(0, 2).filter((word) => /^\w/.test(word)), '--help'], {})
      expect([example, code, err]).toEqual([example, 0, ''])
      for (const option of words.filter((word) => word.startsWith('--'))) expect(out).toMatch(new RegExp(`^ {2}${option}\\b`, 'm'))
    }
  })

  it('refuses an unknown command, an unknown option and no command at all with exit code 2', async () => {
    const unknown = await run(['reconsile'])
    expect(unknown).toMatchObject({ code: 2, out: '' })
    expect(unknown.err).toMatch(/^unknown command 'reconsile'\n\(Did you mean reconcile\?\)/)
    const option = await runHere(['status', '--jsn'], {})
    expect(option).toMatchObject({ code: 2, out: '' })
    expect(option.err).toMatch(/^unknown option '--jsn'\n\(Did you mean --json\?\)/)
    expect(await runHere([], {})).toMatchObject({ code: 2, out: '' })
  })

  it.each([
    ['outbox lsit', "'outbox lsit'\n(Did you mean outbox list?)"],
    // A command of another subject.
    ['outbox resend', "'outbox resend'\n(Did you mean destination resend?)"],
    ['resend', "'resend'\n(Did you mean destination resend?)"],
    ['inbox retry', "'inbox retry'\n(Did you mean inbox replay?)"],
    ['quote zzzzzz', "'quote zzzzzz'\n(known: list)"],
    ['reconcile lst', "'reconcile lst'\n(Did you mean reconcile list?)"],
  ])('suggests names similar to %s, and shows no help for it', async (words, suggestion) => {
    const ended = await runHere(words.split(' '), {})
    expect(ended).toEqual({ code: 2, out: '', err: `unknown command ${suggestion}\n(see --help)\n` })
    expect(await runHere([...words.split(' '), '--help'], {})).toEqual(ended)
    expect(await runHere(['help', ...words.split(' ')], {})).toEqual(ended)
  })

  it('completes commands, options and files in bash', async () => {
    const script = (await runHere(['completion', 'bash'], {})).out
    const complete = (...words: string[]) => {
      const asked = `COMP_WORDS=(submission-mirror "$@"); COMP_CWORD=$#; _submission_mirror; echo "\${COMPREPLY[*]}"`
      return execFileSync('bash', ['-c', `${script}\n${asked}`, 'bash', ...words], { encoding: 'utf8' }).trim()
    }
    expect(complete('re')).toBe('reload reconcile restore retention')
    expect(complete('outbox', '')).toBe('list show exchange retry skip --help')
    expect(complete('outbox', 'list', '--account', 'acme', '--st')).toBe('--state')
    // A value: files.
    expect(complete('track', '--file', '')).toBe('')
    expect(complete('completion', 'z')).toBe('zsh')
  })

  it('completes in zsh and fish too, and in nothing else', async () => {
    const [zsh, fish, other] = await Promise.all(['zsh', 'fish', 'tcsh'].map((shell) => runHere(['completion', shell], {})))
    expect(zsh?.out).toMatch(/^ {4}' outbox'\) commands=\('list:list queued and sent changes/m)
    expect(fish?.out).toMatch(/^complete -c submission-mirror -n '__submission_mirror_at " outbox"' -f -a list -d 'list queued /m)
    expect(fish?.out).toMatch(/^complete -c submission-mirror -n '__submission_mirror_at " outbox list"' -l state -r -d /m)
    expect(other).toMatchObject({ code: 2, out: '' })
  })

  it('reports all problems of the command line and the settings together, one per line', async () => {
    const ended = await runHere(['track', 'not-a-uuid', 'nor-this'], { ...account, ...database, POLL_MAX: 'often', UPSTREAM_RPSS: '5' })
    expect(ended).toMatchObject({ code: 2, out: '' })
    const lines = ended.err.trimEnd().split('\n')
    expect(lines).toHaveLength(4)
    expect(lines[0]).toBe('ids: "not-a-uuid" is not a submission id (a uuid)')
    expect(lines[1]).toBe('ids: "nor-this" is not a submission id (a uuid)')
    expect(ended.err).toContain('POLL_MAX')
    expect(ended.err).toContain('UPSTREAM_RPSS')
    expect(ended.err).not.toContain(account.BROKER_API_CLIENT_SECRET)
  })

  it('does not serve without an account, and says what to set', async () => {
    const ended = await runHere(['serve'], database)
    expect(ended).toMatchObject({ code: 2, out: '' })
    expect(ended.err).toContain('BROKER_API_BASE_URL')
  })

  it('does not serve with a template that is not JSONata, and reports all problems', async () => {
    const file = join(folder, 'broken.yaml')
    const destinations = [
      { name: 'notes', kind: 'http', request: { url: '"https://ams.example/" &', body: '{ "a": ' } },
      { name: 'other', kind: 'http', request: { url: '"https://ams.example/" &' } },
    ]
    writeFileSync(file, JSON.stringify({ destinations }))
    for (const command of [['serve'], ['destination', 'test', 'notes']]) {
      const ended = await runHere(command, { ...account, ...database, CONFIG_FILE: file })
      expect(ended).toMatchObject({ code: 2, out: '' })
      const lines = ended.err.trimEnd().split('\n')
      expect(lines).toEqual([
        expect.stringMatching(/^destination notes: request\.url is not a JSONata expression: /),
        expect.stringMatching(/^destination notes: request\.body is not a JSONata expression: /),
        expect.stringMatching(/^destination other: request\.url is not a JSONata expression: /),
      ])
    }
  })

  it('compares settings, and reads templates, after each setting is valid', async () => {
    const file = join(folder, 'much.yaml')
    const ams = { name: 'notes', kind: 'http', request: { url: '"https://ams.example/" &' } }
    writeFileSync(file, JSON.stringify({ destinations: [ams, ams] }))
    const refused = async (more: object) =>
      (await runHere(['serve'], { ...account, ...database, CONFIG_FILE: file, ...more })).err.trimEnd()
    expect(await refused({ POLL_MAX: 'often' })).toMatch(
      /^POLL_MAX must be a duration.*\n.*destinations\[1\]\.name in CONFIG_FILE is the same as .*$/,
    )
    expect(await refused({})).toMatch(/^destinations\[1\]\.name in CONFIG_FILE is the same as .*$/)
    writeFileSync(file, JSON.stringify({ destinations: [ams] }))
    expect(await refused({})).toMatch(/^destination notes: request\.url is not a JSONata expression: .*$/)
  })

  it('does not make a database only to look into it', async () => {
    const ended = await runHere(['status'], { DATABASE_URL: `sqlite:${join(folder, 'missing.db')}` })
    expect(ended).toMatchObject({ code: 2, out: '' })
    expect(ended.err).toMatch(/^there is no database at .*missing\.db; .*\n$/)
  })

  it('says in one sentence that the folder of the database cannot be created', async () => {
    writeFileSync(join(folder, 'file'), '')
    const ended = await runHere(['serve'], { ...account, DATABASE_URL: `sqlite:${join(folder, 'file', 'mirror.db')}` })
    expect(ended).toMatchObject({ code: 1, out: '' })
    expect(ended.err).toMatch(/^The folder .* cannot be created .*\n$/)
  })

  it('rejects the role work on SQLite, whose one serve must also accept deliveries', async () => {
    const ended = await runHere(['serve', '--role', 'work'], { ...account, ...database })
    expect(ended).toMatchObject({ code: 2, out: '' })
    expect(ended.err).toMatch(/^--role work: .*\n$/)
    expect((await runHere(['serve', '--role', 'push'], { ...account, ...database })).err).toMatch(
      /^--role: "push" must be one of all, receive, work\n$/,
    )
  })

  it('does not start the sandbox where a real service is configured', async () => {
    const ended = await runHere(['sandbox', '--port', '0'], account)
    expect(ended).toMatchObject({ code: 2, out: '' })
    expect(ended.err).toContain('BROKER_API_CLIENT_SECRET')
    expect(ended.err).not.toContain(account.BROKER_API_CLIENT_SECRET)
  })

  it('lists every fault and operation in the help of the sandbox', async () => {
    const { code, out } = await runHere(['sandbox', '--help'], {})
    expect(code).toBe(0)
    for (const { shape } of faultSchema.options) for (const kind of shape.kind.values) expect(out).toMatch(new RegExp(`\\b${kind}\\b`))
    for (const operation of operations) if (operation !== 'delivery') expect(out).toMatch(new RegExp(`\\b${operation}\\b`))
  })

  it('lists every control route in the help of the sandbox', async () => {
    const { out } = await runHere(['sandbox', '--help'], {})
    const paths: string[] = []
    const app = fastify()
    app.addHook('onRoute', ({ url }) => {
      paths.push(url)
    })
    const on = adminRoutes(app, () => undefined, new Unshown())
    registerAdmin(app, on)
    registerLifeAdmin(on, {} as Parameters<typeof registerLifeAdmin>[1])
    await app.close()
    for (const path of paths) expect(out).toMatch(new RegExp(`${path.replace(/:\w+/, 'ID')}\\b`))
  })

  it('says what to do if a port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const ended = await runHere(['sandbox', '--port', String(port)], {})
    taken.close()
    expect(ended).toMatchObject({ code: 1, out: '' })
    expect(ended.err).toMatch(new RegExp(`^port ${port} of 127\\.0\\.0\\.1 is used by another program; .*OPS_PORT.*\\n$`))
  })

  it("says what to do if this machine doesn't have an address", async () => {
    const ended = await runHere(['sandbox', '--host', '203.0.113.7', '--port', '0'], {})
    expect(ended).toMatchObject({ code: 1, out: '' })
    expect(ended.err).toMatch(/^203\.0\.113\.7 is not an address of this machine; .*HOST.*\n$/)
  })

  it.each(['name.invalid', 'fe80::1'])("says the same for %s, which doesn't resolve or needs an interface", async (host) => {
    const ended = await runHere(['sandbox', '--host', host, '--port', '0'], {})
    expect(ended).toMatchObject({ code: 1, out: '' })
    expect(ended.err).toMatch(new RegExp(`^${host} is not an address of this machine; .*HOST.*\\n$`))
  })

  it('says what to do if a port is reserved for the administrator', async () => {
    const refused = Object.assign(new Error('listen EACCES: permission denied 127.0.0.1:80'), {
      code: 'EACCES',
      syscall: 'listen',
      address: '127.0.0.1',
      port: 80,
    })
    let err = ''
    const output = { isTTY: false, write: (text: string) => (err += text) }
    const { signal } = new AbortController()
    const host = {
      argv: ['sandbox'],
      env: {},
      stdin: Readable.from([]),
      stdout: output,
      stderr: output,
      signal,
      self: ['node'] as const,
      command: 'submission-mirror',
      onReload() {},
      onCrash() {},
    }
    const fails = () => Promise.reject(refused)
    const parts = { serve: fails, sandbox: fails, demo: fails }
    expect(await runCli({ host, clock: systemClock, version: '0', parts })).toBe(1)
    expect(err).toMatch(/^port 80 of 127\.0\.0\.1 needs more rights than this user has; .*1024.*OPS_PORT.*\n$/)
  })

  it('ends `serve` with 0 when it is stopped before it is ready, and a command that is not done with 1', async () => {
    const env = { ...account, DATABASE_URL: `sqlite:${join(folder, 'stopped.db')}`, PORT: '0', OPS_PORT: '0' }
    const stopped = AbortSignal.abort(new Error('stopped by SIGTERM'))
    expect(await runHere(['serve'], env, { signal: stopped })).toEqual({ code: 0, out: '', err: 'stopped before it was ready\n' })
    expect(await runHere(['migrate'], env, { signal: stopped })).toEqual({ code: 1, out: '', err: 'stopped before it finished\n' })
  })

  it('names the wrong options of the sandbox', async () => {
    const ended = await runHere(['sandbox', '--port', 'many', '--events-payload', 'letters', '--faults', '[{"kind":"unheard of"}]'], {})
    expect(ended).toMatchObject({ code: 2, out: '' })
    expect(ended.err.trimEnd().split('\n')).toHaveLength(3)
    expect(ended.err).toMatch(/^--faults: must be none, all or a JSON list of faults; .*'lose'.* at \[0\]\.kind$/m)
    expect((await runHere(['sandbox', '--faults', 'bad'], {})).err).toBe('--faults: must be none, all or a JSON list of faults\n')
    expect(ended.err).toMatch(/^--port: /m)
    expect(ended.err).toMatch(/^--events-payload: /m)
  })

  it('syncs only tracked ids, and says how to track the others', async () => {
    const id = randomUUID()
    expect((await runHere(['migrate'], database)).code).toBe(0)
    const ended = await runHere(['sync', id], { ...account, ...database })
    expect(ended).toMatchObject({ code: 2, out: '' })
    expect(ended.err).toContain(`submission-mirror track ${id}`)
  })
})
