import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import { accountEnv, databaseEnv, type Environment, startServe } from '../e2e/serve.ts'
import { selfSigned } from '../push/certificate.ts'
import { newSqlite } from '../tools/databases.ts'
import { newFolder } from '../tools/new-folder.ts'
import { json, run } from './run.ts'

let sandbox: Sandbox

beforeEach(async () => {
  sandbox = await startSandbox({ submissions: 0, autoStart: false })
  return () => sandbox.close()
})

/** An environment that names a file of authorities with this `content`. */
function naming(content: string): Environment {
  const folder = newFolder()
  const file = join(folder, 'ca.pem')
  writeFileSync(file, content)
  const { config, remove } = newSqlite()
  onTestFinished(remove)
  return { ...accountEnv(sandbox), ...databaseEnv(config), NODE_EXTRA_CA_CERTS: file }
}

it.each([
  ['no certificate', 'hello\n', ['NODE_EXTRA_CA_CERTS names a file without readable certificates']],
  ['one', selfSigned.cert, []],
])('a file of authorities with %s in it: serve and doctor say so when nothing is trusted for it', async (_, content, said) => {
  const env = naming(content)
  const serve = await startServe(env)
  onTestFinished(() => serve.kill())
  expect(await serve.stop()).toBe(0)
  const logged = serve.lines().map((line) => JSON.parse(line) as { level: number; msg: string })
  const starts = ({ msg }: { msg: string }) => msg.split(',')[0]
  expect(logged.filter(({ level, msg }) => level === 40 && msg.startsWith('NODE_')).map(starts)).toEqual(said)
  // The database of this test is new.
  expect(logged.map(({ msg }) => msg)).toContainEqual(expect.stringMatching(/^created a new, empty mirror in \/.*\.db\. If your mirror/))
  const { items: found } = json<{ items: { about: string; ok: boolean; text: string }[] }>(await run(['doctor', '--json'], env))
  const wrong = found.filter(({ about, ok }) => about === 'settings' && !ok)
  expect(wrong.map(({ text }) => starts({ msg: text }))).toEqual(said)
})
