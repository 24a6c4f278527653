import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { Secret } from '../../../src/base/secret.ts'
import type { SftpServerOptions } from '../../emulators/sftp-server.ts'
import { sshKeys } from '../../emulators/ssh-keys.ts'
import { PASSWORD, place } from './sftp-place.ts'
import { pushItems, readDrop, readRows, send, slow, submissionOf } from './support.ts'

const KEYS = sshKeys()

describe('a drop of files by SFTP', () => {
  it('writes, syncs and renames files, and the manifest last', async () => {
    const { folder, server, kind } = await place()
    const outcomes = await send(kind(), pushItems(5))
    const { files, manifests, others } = readDrop(folder)
    expect(outcomes).toEqual(Array(5).fill({ type: 'delivered', status: null, remoteId: null, detail: files[0] }))
    expect([files.length, manifests.length, others.length]).toEqual([1, 1, 0])
    expect(readRows(join(folder, files[0] ?? '')).map((row) => row['seq'])).toEqual([1001, 1002, 1003, 1004, 1005])
    const steps = server.requests.map((request) => request.replace(/~[0-9a-f]{16}/, '~#').replace(/_[0-9a-f]{16}/g, '_#'))
    const file = (name: string) => ['open', 'write', 'fsync', 'close'].map((step) => `${step} /.agency~#${name}.part`)
    expect(steps.filter((step) => !/^(?:opendir|readdir|close) \/$/.test(step))).toEqual([
      ...file('-0'),
      ...file(''),
      'posix-rename /.agency~#-0.part /agency_000000001001-000000001005_#.ndjson',
      'posix-rename /.agency~#.part /agency_000000001001-000000001005_#.manifest.json',
    ])
  })

  it.each<[string, Partial<SftpServerOptions>, { privateKey?: Secret; password?: null }]>([
    ['with a private key', { publicKey: KEYS.public }, { password: null, privateKey: new Secret(KEYS.private) }],
    [
      'where the key is wanted first and the password after it',
      { publicKey: KEYS.public, password: PASSWORD, isTwofold: true },
      { privateKey: new Secret(KEYS.private) },
    ],
    ['where the password is asked for in a dialogue', { password: PASSWORD, dialogue: true }, {}],
  ])('does it %s', async (_, options, login) => {
    const { folder, kind } = await place(options)
    expect((await send(kind({}, login), pushItems(2)))[0]).toMatchObject({ type: 'delivered' })
    expect(readDrop(folder).manifests[0]?.rows).toBe(2)
  })

  it('writes large files whole', async () => {
    const { folder, kind } = await place()
    const body = 'x'.repeat(3_000)
    await send(
      kind(),
      pushItems(1_500).map((item) => ({ ...item, after: { body } })),
    )
    expect(readDrop(folder).manifests[0]).toMatchObject({ rows: 1_500 })
  })

  it('writes many files at a time', async () => {
    const { folder, kind } = await place()
    const items = pushItems(60).map((item, n) => ({ ...item, submissionId: submissionOf(0).replace(/..$/, String(n + 10)) }))
    const outcomes = await send(kind({ per: 'submission' }), items)
    expect(outcomes.every(({ type }) => type === 'delivered')).toBe(true)
    expect(readDrop(folder).files).toHaveLength(60)
    expect(readDrop(folder).manifests[0]?.files).toHaveLength(60)
  })

  it('works without OpenSSH’s extensions, also when the file exists from an earlier attempt', async () => {
    const { folder, server, kind } = await place({ password: PASSWORD, openssh: false })
    expect((await send(kind(), pushItems(5)))[0]?.type).toBe('delivered')
    const before = readDrop(folder)
    expect((await send(kind(), pushItems(5)))[0]?.type).toBe('delivered')
    expect(readDrop(folder)).toEqual(before)
    expect(server.requests.filter((request) => /^(?:posix-rename|fsync)/.test(request))).toEqual([])
  })

  it('does not replace a file of the same name from another program', async () => {
    const { folder, kind } = await place({ password: PASSWORD, openssh: false })
    await send(kind(), pushItems(5))
    const [name = ''] = readDrop(folder).files
    writeFileSync(join(folder, name), 'something else')
    expect((await send(kind(), pushItems(5)))[0]).toMatchObject({ type: 'unknown' })
  })

  it('replaces it in one step if the server can', async () => {
    const { folder, kind } = await place()
    await send(kind(), pushItems(5))
    const [name = ''] = readDrop(folder).files
    writeFileSync(join(folder, name), 'something else')
    expect((await send(kind(), pushItems(5)))[0]?.type).toBe('delivered')
    expect(readDrop(folder).manifests[0]?.rows).toBe(5)
  })

  it('leaves no connection open after any result', async () => {
    const { server, kind } = await place()
    await send(kind(), pushItems(1))
    await server.left()
    await send(kind({}, { password: new Secret('another') }), pushItems(1))
    await server.left()
    server.fault = (heard) => (heard.startsWith('open ') ? 4 : null)
    expect((await send(kind(), pushItems(1)))[0]?.type).toBe('suspend')
    await server.left()
  })

  it('probes with a hidden file', async () => {
    const { folder, server, kind } = await place()
    expect(await kind().probe(new AbortController().signal)).toEqual({
      ok: true,
      text: `a file was written, renamed and removed in / on sftp://mirror@127.0.0.1:${server.port}`,
    })
    expect(readDrop(folder)).toEqual({ files: [], manifests: [], others: [] })
  })
})

describe('an SFTP server that is not to be trusted, or does not trust us', () => {
  it('gets nothing, not even a login, when its key is another one', async () => {
    const { folder, server, kind } = await place()
    const [outcome] = await send(kind({}, { hostKey: `SHA256:${'A'.repeat(43)}` }), pushItems(2))
    expect(outcome).toEqual({
      type: 'suspend',
      retry: 'slowly',
      status: null,
      error: `127.0.0.1:${server.port} has the ssh-ed25519 key ${server.hostKey}, but host_key is SHA256:${'A'.repeat(43)}, so nothing was sent; verify the identity of the server before you change host_key`,
    })
    expect(server.logins()).toBe(0)
    expect(readDrop(folder).files).toEqual([])
  })

  it('suspends the destination when it refuses the password, so that no account is locked by trying', async () => {
    const { server, kind } = await place()
    const wrong = { password: new Secret('another password') }
    const error = `127.0.0.1:${server.port} rejects the login of user mirror; check username and password`
    expect((await send(kind({}, wrong), pushItems(1)))[0]).toEqual({ type: 'suspend', retry: 'slowly', status: null, error })
    expect(await kind({}, wrong).probe(new AbortController().signal)).toEqual({ ok: false, text: error })
  })

  it('suspends it when the private key is rejected or invalid', async () => {
    const { server, kind } = await place({ publicKey: sshKeys().public })
    const other = new Secret(sshKeys().private)
    const [refused] = await send(kind({}, { password: null, privateKey: other }), pushItems(1))
    expect(refused).toMatchObject({
      type: 'suspend',
      error: `127.0.0.1:${server.port} rejects the login of user mirror; check username and private key`,
    })
    const [none] = await send(kind({}, { password: null, privateKey: new Secret('not a key') }), pushItems(1))
    expect(none).toMatchObject({ type: 'suspend', error: expect.stringContaining('the private key cannot be used') as string })
  })

  it('is not connected to at an address that is not allowed', async () => {
    const { server, kind } = await place()
    const [refused] = await send(kind({ allowPrivate: false }), pushItems(1))
    expect(refused).toMatchObject({ type: 'suspend', error: expect.stringContaining('allow_private') as string })
    const [unlisted] = await send(kind({ allowHosts: ['sftp.example.com'] }), pushItems(1))
    expect(unlisted).toMatchObject({ type: 'suspend', error: 'allow_hosts does not list 127.0.0.1; add the host if you trust it' })
    // It is on the list, but refused because of its address.
    const [local] = await send(kind({ allowHosts: ['::1'], allowPrivate: false }, { host: '::1' }), pushItems(1))
    expect(local).toMatchObject({ type: 'suspend', error: expect.stringContaining('allow_private') as string })
    expect(server.logins()).toBe(0)
  })
})

describe('an SFTP server that fails', () => {
  it.each([
    ['open', 2, 'the folder does not exist: create it there, or correct path'],
    ['open', 3, 'no permission to write there: let the user create, rename and remove files'],
    ['write', 4, 'the server reports a failure without a reason: check whether its disk or quota is full'],
    ['fsync', 4, 'the server reports a failure without a reason: check whether its disk or quota is full'],
  ])('at %s with status %i leaves the rows waiting, and no file', async (request, code, sentence) => {
    const { folder, server, kind } = await place()
    server.fault = (heard) => (heard.startsWith(`${request} /.agency`) ? code : null)
    const [outcome] = await send(kind(), pushItems(300))
    const error = `cannot write / on sftp://mirror@127.0.0.1:${server.port}: ${sentence}`
    expect(outcome).toEqual({ type: 'suspend', retry: 'soon', status: null, error })
    expect(readDrop(folder)).toEqual({ files: [], manifests: [], others: [] })
    server.fault = () => null
    expect((await send(kind(), pushItems(300)))[0]?.type).toBe('delivered')
  })

  it.each(['opendir', 'open', 'write', 'fsync', 'close'])(
    'by cutting the connection at %s leaves no file that is seen',
    async (request) => {
      const { folder, server, kind } = await place()
      server.fault = (heard) => (heard.startsWith(`${request} /`) ? 'cut' : null)
      const [outcome] = await send(kind(), pushItems(3))
      expect(outcome).toMatchObject({ type: 'failed', permanent: false, alive: false })
      expect(readDrop(folder)).toMatchObject({ files: [], manifests: [] })
      server.fault = () => null
      expect((await send(kind(), pushItems(3)))[0]?.type).toBe('delivered')
    },
  )

  it('by cutting the connection at a rename leaves it open what readers see; the same rows make it whole', async () => {
    const { folder, server, kind } = await place()
    server.fault = (heard) => (heard.includes('manifest') ? 'cut' : null)
    expect((await send(kind(), pushItems(3)))[0]).toMatchObject({ type: 'unknown' })
    const before = readDrop(folder)
    expect([before.files.length, before.manifests.length]).toEqual([1, 0])
    server.fault = () => null
    expect((await send(kind(), pushItems(3)))[0]?.type).toBe('delivered')
    expect(readDrop(folder)).toMatchObject({ files: before.files, manifests: [{ rows: 3 }] })
  })

  it('says nothing of rows that were never begun', async () => {
    const { folder, server, kind } = await place()
    const clock = new ManualClock()
    // Each row takes a second of this clock to be made into text; rows are begun for 60 % of 250 s, and made 100 at a time.
    server.fault = (heard) => (heard.startsWith('posix-rename') ? 'cut' : null)
    const rows = pushItems(500).map((item) => slow(item, clock, 1_000))
    const outcomes = await send(kind({ timeoutMs: 250_000 }, {}, clock), rows)
    expect(outcomes.map(({ type }) => type)).toEqual([...Array<string>(200).fill('unknown'), ...Array<string>(300).fill('not_attempted')])
    expect(readDrop(folder).files).toEqual([])
  })

  it('by not answering ends after the timeout', async () => {
    const { folder, server, kind } = await place()
    const clock = new ManualClock()
    server.fault = (heard) => {
      if (!heard.startsWith('write ')) return null
      clock.advance(20_000)
      return 'hang'
    }
    const [outcome] = await send(kind({}, {}, clock), pushItems(3))
    const error = `/ on sftp://mirror@127.0.0.1:${server.port} did not accept the file within 20000 ms`
    expect(outcome).toMatchObject({ type: 'failed', alive: false, error })
    expect(readDrop(folder).files).toEqual([])
  })

  it('by accepting a connection and not answering ends after the timeout', async () => {
    const clock = new ManualClock()
    const silent = createServer(() => clock.advance(20_000)).listen(0, '127.0.0.1')
    onTestFinished(() => void silent.close())
    await new Promise((resolve) => silent.once('listening', resolve))
    const { kind } = await place()
    const { port } = silent.address() as { port: number }
    expect((await send(kind({}, { port }, clock), pushItems(1)))[0]).toMatchObject({ type: 'failed', permanent: false, alive: false })
  })

  it('by not being there is one clear sentence', async () => {
    const { server, kind } = await place()
    await server.close()
    const [outcome] = await send(kind(), pushItems(1))
    const error = expect.stringMatching(/^cannot connect to 127\.0\.0\.1:\d+: ECONNREFUSED: no program listens/) as string
    expect(outcome).toMatchObject({ type: 'failed', permanent: false, alive: false, error })
  })
})
