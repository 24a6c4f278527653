import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type FastifyInstance, fastify } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addConsole } from '../../../src/ops/http/console.ts'

let folder: string
let app: FastifyInstance
let isOn = true

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'submission-mirror-console-'))
  app = fastify()
  addConsole(app, () => isOn, [join(folder, 'elsewhere'), join(folder, 'console')])
})

afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true, force: true })
})

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })

it('explains how to build a missing console', async () => {
  const answer = await get('/console/')
  expect(answer.statusCode).toBe(503)
  expect(answer.body).toBe('The console is not built. Run `npm run build` in the project, then reload this page.\n')
})

it('serves the page at the address of every view, and caches its files forever', async () => {
  await mkdir(join(folder, 'console/assets'), { recursive: true })
  await writeFile(join(folder, 'console/index.html'), '<!doctype html>page')
  await writeFile(join(folder, 'console/assets/main-1.js'), 'script')
  await writeFile(join(folder, 'console/assets/main-1.js.gz'), gzipSync('script'))
  for (const view of ['', 'submissions', 'submissions/default/3d2f?stage=open', 'deliveries/msg_1.json']) {
    const answer = await get(`/console/${view}`)
    expect([answer.statusCode, answer.body]).toEqual([200, '<!doctype html>page'])
    expect(answer.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
  }
  const script = await get('/console/assets/main-1.js')
  expect([script.body, script.headers['content-type']]).toEqual(['script', 'application/javascript; charset=utf-8'])
  expect(script.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  const smaller = await get('/console/assets/main-1.js', { 'accept-encoding': 'gzip, deflate, br' })
  expect([smaller.headers['content-encoding'], smaller.rawPayload]).toEqual(['gzip', gzipSync('script')])
  expect((await get('/console/assets/other.js')).statusCode).toBe(404)
  expect((await get('/console/../../package.json')).statusCode).toBe(404)
  expect((await get('/console/%2e%2e%2fpackage.json')).body).toBe('<!doctype html>page')
})

it('redirects the root to the page', async () => {
  for (const url of ['/', '/console']) {
    const answer = await get(url)
    expect([answer.statusCode, answer.headers.location]).toEqual([302, '/console/'])
  }
})

it('explains how to enable sign-in', async () => {
  isOn = false
  for (const url of ['/', '/console', '/console/', '/console/submissions']) {
    const { statusCode, headers, body } = await get(url)
    expect([statusCode, headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
    expect(body).toContain('Set <code>OPS_TOKENS=you:TOKEN</code>')
  }
  expect((await get('/console/assets/main-1.js')).headers['content-type']).toMatch(/json/)
})
