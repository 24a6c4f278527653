/**
 * Replays docker/Dockerfile without a container engine, in a temporary folder: the same files in the same places (those that
 * .dockerignore lets through), the same commands, each stage in a folder of its own; then runs the result as the image would, as
 * a user that is not root and cannot write beside /data. Needs Node 24 (node_modules/.bin/node) and npm.
 *
 *   node test/docker/replay.ts
 */
import { execFile } from 'node:child_process'
import { chmod, chown, copyFile, cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { contextFilter, execForm, pairs, parseDockerfile, type Stage, type Step } from './dockerfile.ts'
import { deliver, openConsole, startProgram, stopProgram } from './program.ts'

const run = promisify(execFile)
const project = fileURLToPath(new URL('../..', import.meta.url))
const isRoot = process.getuid?.() === 0

/** A stage after its steps: where its files are, and what its instructions said. */
interface Built {
  readonly root: string
  readonly workdir: string
  readonly env: Readonly<Record<string, string>>
  /** The last of each instruction that says how the image runs. */
  readonly settings: ReadonlyMap<string, string>
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'dockerfile-replay-'))
  try {
    await chmod(folder, 0o755)
    const tools = await prepareTools(folder)
    const context = await prepareContext(folder)
    const built = new Map<string, Built>()
    let image: Built | undefined
    for (const stage of parseDockerfile(await readFile(join(project, 'docker/Dockerfile'), 'utf8'))) {
      image = await buildStage(stage, join(folder, `stage-${stage.name}`), { context, tools, built })
      built.set(stage.name, image)
    }
    if (image === undefined) throw new Error('the Dockerfile has no stage')
    await checkImage(image, folder, tools)
    console.log('the image that the Dockerfile describes starts, stores a delivery, shows its console, stops, and starts again')
  } finally {
    await run('chmod', ['-R', 'u+w', folder])
    await rm(folder, { recursive: true, force: true })
  }
}

/** Stands for the base image: a folder with its Node, and with a chown that does nothing where only root could. */
async function prepareTools(folder: string): Promise<string> {
  const tools = join(folder, 'tools')
  await mkdir(tools)
  await copyFile(process.execPath, join(tools, 'node'))
  await chmod(join(tools, 'node'), 0o755)
  if (!isRoot) await writeFile(join(tools, 'chown'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  return tools
}

/** Copies what the builder would be sent. */
async function prepareContext(folder: string): Promise<string> {
  const context = join(folder, 'context')
  const isSent = contextFilter(await readFile(join(project, '.dockerignore'), 'utf8'))
  const filter = (source: string) => source === project || isSent(relative(project, source))
  await cp(project, context, { recursive: true, filter })
  return context
}

interface Surroundings {
  readonly context: string
  readonly tools: string
  readonly built: ReadonlyMap<string, Built>
}

async function buildStage(stage: Stage, root: string, surroundings: Surroundings): Promise<Built> {
  await mkdir(root)
  let workdir = root
  let env: Record<string, string> = {}
  const settings = new Map<string, string>()
  for (const step of stage.steps) {
    const startedAt = Date.now()
    if (step.name === 'WORKDIR') {
      workdir = within(root, root, step.rest)
      await mkdir(workdir, { recursive: true })
    } else if (step.name === 'ENV') env = { ...env, ...pairs(step.rest) }
    else if (step.name === 'COPY') await copyStep(step, root, workdir, surroundings)
    else if (step.name === 'RUN') await runStep(step, root, workdir, surroundings.tools)
    else settings.set(step.name, step.rest)
    if (step.name === 'RUN') console.log(`${stage.name}: ${step.rest.slice(0, 90)} (${Math.round((Date.now() - startedAt) / 1000)} s)`)
  }
  return { root, workdir, env, settings }
}

/** @returns the place in a stage's folder of a path that is absolute in the image, or relative to its working folder. */
function within(root: string, workdir: string, path: string): string {
  return path.startsWith('/') ? join(root, path) : resolve(workdir, path)
}

async function copyStep(step: Step, root: string, workdir: string, { context, built }: Surroundings): Promise<void> {
  const words = step.rest.split(/\s+/)
  const sources = words.slice(0, -1)
  const target = words.at(-1) ?? ''
  const from = step.flags['from']
  const origin = from === undefined ? context : built.get(from)?.root
  if (origin === undefined) throw new Error(`COPY --from=${from}: no such stage`)
  for (const source of sources) {
    const path = join(origin, source)
    const place = within(root, workdir, target)
    const isFolder = (await stat(path)).isDirectory()
    await cp(path, isFolder || !target.endsWith('/') ? place : join(place, basename(source)), { recursive: true })
  }
}

/** Runs a command in the stage's folder; every absolute path in it is moved there, so that it cannot touch this machine. */
async function runStep(step: Step, root: string, workdir: string, tools: string): Promise<void> {
  const command = step.rest.replace(/(^|\s)\//g, `$1${root}/`)
  const env = { ...process.env, PATH: `${tools}:${process.env['PATH']}`, NODE_ENV: '' }
  await run('sh', ['-ec', command], { cwd: workdir, env, maxBuffer: 64 << 20 })
}

/** Starts the image's command twice on one /data, with the image's health check and one signed delivery. */
async function checkImage(image: Built, folder: string, tools: string): Promise<void> {
  const data = join(image.root, image.settings.get('VOLUME') ?? '')
  const [uid = 0, gid = 0] = (image.settings.get('USER') ?? '').split(':').map(Number)
  if (!(uid > 0)) throw new Error(`USER is ${image.settings.get('USER')}: it must be a number other than 0`)
  for (const file of ['sbom.cdx.json', 'THIRD-PARTY-LICENSES.txt']) await stat(join(image.workdir, file))
  await run('chmod', ['-R', 'a-w', image.workdir])
  if (isRoot) await chown(data, uid, gid)
  const env = Object.fromEntries(Object.entries(image.env).map(([key, value]) => [key, value.replace('/data', data)]))
  const command = [...execForm(image.settings.get('ENTRYPOINT') ?? '[]'), ...execForm(image.settings.get('CMD') ?? '[]')]
  const start = {
    command: [join(tools, command[0] ?? ''), ...command.slice(1)],
    cwd: image.workdir,
    env: { ...env, PATH: `${tools}:/usr/bin:/bin`, HOME: join(folder, 'no-home') },
    user: isRoot ? { uid, gid } : undefined,
  }
  for (const time of ['first', 'second']) {
    const program = await startProgram(start)
    const [health = '', ...args] = execForm((image.settings.get('HEALTHCHECK') ?? '').replace(/^.*?CMD\s+/, ''))
    await run(join(tools, health), args, { env: { OPS_PORT: String(program.opsPort) } })
    await deliver(program, `msg_${time}`)
    await openConsole(program)
    await stopProgram(program)
  }
}

await main()
