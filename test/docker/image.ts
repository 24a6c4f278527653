import { execFile } from 'node:child_process'
import { chmod, copyFile, cp, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { contextFilter, pairs, parseDockerfile, type Stage, type Step } from './dockerfile.ts'

const run = promisify(execFile)
export const isRoot = process.getuid?.() === 0

export interface Built {
  readonly root: string
  readonly workdir: string
  readonly env: Readonly<Record<string, string>>
  readonly settings: ReadonlyMap<string, string>
}

export interface Image extends Built {
  readonly tools: string
  readonly base: string
}

/**
 * Runs docker/Dockerfile without a container engine: the same files (as .dockerignore allows) in the same places, the same commands, one
 * folder for each stage. The base image's own files are missing.
 * @param project a checkout.
 * @param folder an empty folder for all of it.
 */
export async function buildImage(project: string, folder: string): Promise<Image> {
  await chmod(folder, 0o755)
  const tools = await prepareTools(folder)
  const context = await prepareContext(project, folder)
  const built = new Map<string, Built>()
  const stages = parseDockerfile(await readFile(join(project, 'docker/Dockerfile'), 'utf8'))
  let image: Built | undefined
  for (const stage of stages) {
    image = await buildStage(stage, join(folder, `stage-${stage.name}`), { context, tools, built })
    built.set(stage.name, image)
  }
  if (image === undefined) throw new Error('the Dockerfile has no stage')
  return { ...image, tools, base: stages[0]?.base ?? '' }
}

/** Simulates the base image: a folder with its Node, and with a chown that does nothing unless run as root. */
async function prepareTools(folder: string): Promise<string> {
  const tools = join(folder, 'tools')
  await mkdir(tools)
  await copyFile(process.execPath, join(tools, 'node'))
  await chmod(join(tools, 'node'), 0o755)
  if (!isRoot) await writeFile(join(tools, 'chown'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  return tools
}

async function prepareContext(project: string, folder: string): Promise<string> {
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

/** @returns the place of an image path in a stage's folder. */
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
    // Links stay links, as a builder copies them.
    const into = isFolder || !target.endsWith('/') ? place : join(place, basename(source))
    await cp(path, into, { recursive: true, verbatimSymlinks: true })
  }
}

/** Runs a command in the stage's folder. Absolute paths are moved there, so that this machine isn't changed. */
async function runStep(step: Step, root: string, workdir: string, tools: string): Promise<void> {
  const command = step.rest.replace(/(^|\s)\//g, `$1${root}/`)
  const env = { ...process.env, PATH: `${tools}:${process.env['PATH']}`, NODE_ENV: '' }
  await run('sh', ['-ec', command], { cwd: workdir, env, maxBuffer: 64 << 20 })
}
