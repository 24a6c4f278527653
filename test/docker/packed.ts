/**
 * Packs the built project as npm would publish it, installs the package in an empty folder, and runs it there. Needs Node 24
 * (node_modules/.bin/node) and npm. node test/docker/packed.ts
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { checkClientAlone, checkImport } from './packed-client.ts'
import { deliver, openConsole, startProgram, stopProgram } from './program.ts'

const run = promisify(execFile)
const project = fileURLToPath(new URL('../..', import.meta.url))

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'packed-'))
  try {
    const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}` }
    await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], { cwd: project, env })
    const [archive = ''] = await readdir(folder)
    await writeFile(join(folder, 'package.json'), '{ "private": true }\n')
    const install = ['install', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', `./${archive}`]
    await run('npm', install, { cwd: folder, env })
    const bin = join(folder, 'node_modules/.bin/submission-mirror')
    await checkVersion(bin, env)
    await checkMaterials(folder)
    const program = await startProgram({
      command: [bin, 'serve'],
      cwd: folder,
      env: { PATH: env.PATH, DATABASE_URL: `sqlite:${join(folder, 'mirror.db')}` },
    })
    await deliver(program, 'msg_packed')
    await openConsole(program)
    await stopProgram(program)
    await checkPreset(bin, folder, env)
    await checkImport(folder)
    await checkClientAlone(bin, env)
    console.log(
      `${archive} installs, says its version and what it is made of, serves, shows its console, stops, and has its presets and its client, which installs alone, too`,
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function checkVersion(bin: string, env: NodeJS.ProcessEnv): Promise<void> {
  const { version } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as { version: string }
  const { stdout } = await run(bin, ['--version'], { env })
  if (stdout.trim() !== version) throw new Error(`--version says ${stdout.trim()}, the package is ${version}`)
}

/** Checks that the bill of materials names every installed package. */
async function checkMaterials(folder: string): Promise<void> {
  const dist = join(folder, 'node_modules/submission-mirror/dist')
  const bom = JSON.parse(await readFile(join(dist, 'sbom.cdx.json'), 'utf8')) as { components: { name: string }[] }
  await readFile(join(dist, 'THIRD-PARTY-LICENSES.txt'))
  const { packages } = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8')) as { packages: Record<string, unknown> }
  const listed = new Set(['submission-mirror', ...bom.components.map(({ name }) => name)])
  const installed = Object.keys(packages).filter((path) => path !== '')
  const unlisted = installed
    .map((path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
    .filter((name) => !listed.has(name))
  if (unlisted.length > 0) throw new Error(`the bill of materials does not name ${unlisted.join(', ')}`)
}

async function checkPreset(bin: string, folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  const file = join(folder, 'mirror.yaml')
  await writeFile(file, 'destinations: [{ name: ams, preset: hawksoft }]\n')
  const settings = { DATABASE_URL: `sqlite:${join(folder, 'mirror.db')}`, CONFIG_FILE: file }
  const secrets = { HAWKSOFT_USER: 'user', HAWKSOFT_PASSWORD: 'password', HAWKSOFT_AGENCY_ID: '1' }
  const { stdout } = await run(bin, ['destination', 'list', '--json'], { env: { PATH: env['PATH'], ...settings, ...secrets } })
  const { items } = JSON.parse(stdout) as { items: { kind?: string }[] }
  const [ams] = items
  if (ams?.kind !== 'http') throw new Error(`the preset was not found: ${stdout}`)
}

await main()
