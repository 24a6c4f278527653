/**
 * Replays docker/Dockerfile without a container engine in a temporary folder, then runs the result as the image would, as an ordinary user
 * who can write only /data. Needs Node 24 (node_modules/.bin/node) and npm. node test/docker/replay.ts
 */
import { execFile } from 'node:child_process'
import { chown, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { execForm } from './dockerfile.ts'
import { buildImage, type Image, isRoot } from './image.ts'
import { deliver, openConsole, startProgram, stopProgram } from './program.ts'

const run = promisify(execFile)
const project = fileURLToPath(new URL('../..', import.meta.url))

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'dockerfile-replay-'))
  try {
    await checkImage(await buildImage(project, folder), folder)
    console.log('the image that the Dockerfile describes starts, stores a delivery, shows its console, stops, and starts again')
  } finally {
    await run('chmod', ['-R', 'u+w', folder])
    await rm(folder, { recursive: true, force: true })
  }
}

/** Starts the image's command twice on one /data, with the health check and one signed delivery. */
async function checkImage(image: Image, folder: string): Promise<void> {
  const { tools } = image
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
