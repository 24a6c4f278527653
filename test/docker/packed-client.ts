import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '../tools/free-port.ts'

const run = promisify(execFile)
const project = fileURLToPath(new URL('../..', import.meta.url))

/** Checks that own code can import the client from the installed program, with types. */
export async function checkImport(folder: string): Promise<void> {
  const stdout = await compileAndRun(
    folder,
    `import { bearer, createClient, type Client } from 'submission-mirror/client'
const client: Client = createClient({ baseUrl: 'http://127.0.0.1:${await freePort()}/api/v1', auth: bearer('none'), retry: { tries: 1 } })
const insured: Promise<string | undefined> = client.submissions.requirements('0b9f6c1e-1111-4222-8333-444455556666').then((view) => view.submission_id)
await insured.catch(({ name, sent }: { name: string; sent: string }) => console.log(name, sent))
`,
  )
  if (stdout !== 'Unreachable no') throw new Error(`the client says ${stdout}`)
}

/**
 * Checks that the client package installs in an empty folder with zod only, and that its README's example compiles and runs against the
 * emulator.
 * @param bin the installed program.
 */
export async function checkClientAlone(bin: string, env: NodeJS.ProcessEnv): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'packed-client-'))
  const sandbox = spawn(bin, ['sandbox', '--json', '--port', '0'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    await installClient(folder, env)
    const readme = await readFile(join(folder, 'node_modules/submission-mirror-client/README.md'), 'utf8')
    const example = /```ts\n(.*?)```/s.exec(readme)?.[1] ?? ''
    const stdout = await compileAndRun(folder, `${withWorld(example, await worldOf(sandbox))}console.log('created', submission_id)\n`)
    if (!/(^|\n)created [0-9a-f-]{36}$/.test(stdout)) throw new Error(`the example of the client's README says ${stdout}`)
  } finally {
    sandbox.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

async function installClient(folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  const cwd = join(project, 'dist/submission-mirror-client')
  const packed = join(folder, 'packed')
  await mkdir(packed)
  await run('npm', ['pack', '--silent', '--pack-destination', packed], { cwd, env })
  const [archive = ''] = await readdir(packed)
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n')
  const install = ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', `./packed/${archive}`]
  await run('npm', install, { cwd: folder, env })
  const installed = (await readdir(join(folder, 'node_modules'))).filter((name) => !name.startsWith('.'))
  if (installed.join() !== 'submission-mirror-client,zod') throw new Error(`the client brings ${installed}`)
}

interface World {
  readonly base_url: string
  readonly accounts: readonly { readonly client_id: string; readonly client_secret: string; readonly producer_email: string }[]
}

async function worldOf({ stdout }: ChildProcess): Promise<World> {
  if (stdout === null) throw new Error('the emulator has no output')
  const [line] = (await once(createInterface({ input: stdout }), 'line', { signal: AbortSignal.timeout(30_000) })) as [string]
  return JSON.parse(line) as World
}

function withWorld(example: string, { base_url, accounts: [account] }: World): string {
  if (account === undefined) throw new Error('the emulator has no account')
  return example
    .replace('http://127.0.0.1:8090/api/v1', base_url)
    .replace('bac_…', account.client_id)
    .replace('bas_…', account.client_secret)
    .replace('ann@brokerage.example', account.producer_email)
}

async function compileAndRun(folder: string, code: string): Promise<string> {
  await writeFile(join(folder, 'own.mts'), code)
  const strict = ['--strict', '--module', 'nodenext', '--target', 'es2024', '--lib', 'es2024,dom', '--noEmit', 'own.mts']
  const { stdout: problems } = await run(join(project, 'node_modules/.bin/tsc'), strict, { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  )
  if (problems !== '') throw new Error(`the client's types do not hold: ${problems}`)
  const { stdout } = await run(process.execPath, ['own.mts'], { cwd: folder })
  return stdout.trim()
}
