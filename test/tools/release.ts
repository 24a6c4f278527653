/**
 * Creates all published files of a release from the checked-out commit: the packed program and client, bills of materials, licenses, the
 * image's contents, and checksums. The same commit gives the same bytes with the same Node and npm. Needs git, GNU tar, npm, and the
 * package registry.
 * node test/tools/release.ts FOLDER [--rehearsal]
 * A rehearsal accepts an unreleased version and a checkout with changes, which it ignores.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { buildImage } from '../docker/image.ts'
import { versionProblems } from './release-versions.ts'

const project = fileURLToPath(new URL('../..', import.meta.url))
const CLIENT = 'dist/submission-mirror-client'

interface Source {
  readonly checkout: string
  readonly version: string
  readonly commit: string
  /** Commit time in seconds since the epoch: the time of all created files. */
  readonly epoch: string
}

/** Kept environment: how to find programs and the registry. */
const KEPT = /^(?:PATH|HOME|npm_config_.*|(?:https?|no)_proxy|NODE_EXTRA_CA_CERTS|TMPDIR)$/i

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { rehearsal: { type: 'boolean', default: false } } })
  const [folder] = positionals
  if (folder === undefined) throw new Error('name the folder to write to')
  const out = resolve(folder)
  await mkdir(out, { recursive: true })
  if ((await readdir(out)).length > 0) throw new Error(`${out} is not empty`)
  narrowEnvironment()
  const work = await mkdtemp(join(tmpdir(), 'release-'))
  try {
    const source = await layOut(work, values.rehearsal)
    // First, before the checkout contains other files.
    const image = await packImage(source, join(work, 'image'), out)
    await packPackages(source, out)
    await writeFile(join(out, 'release.json'), `${JSON.stringify(await factsOf(source, image), null, 2)}\n`)
    await writeSums(out)
    console.log(`${source.version} of commit ${source.commit} is in ${out}; \`sha256sum -c SHA256SUMS\` checks it there`)
    console.log(
      `not built here: the image itself, for no container engine is used. ${image.file} is its folder /app; the rest is the base ` +
        `${image.base} and the settings of docker/Dockerfile. Not signed: sign SHA256SUMS`,
    )
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

function narrowEnvironment(): void {
  for (const name of Object.keys(process.env)) if (!KEPT.test(name)) delete process.env[name]
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`
  Object.assign(process.env, { PATH, TZ: 'UTC', LC_ALL: 'C' })
  process.umask(0o022)
}

async function run(file: string, args: readonly string[], { checkout: cwd }: Pick<Source, 'checkout'>): Promise<string> {
  const { stdout } = await promisify(execFile)(file, args, { cwd, maxBuffer: 64 << 20 })
  return stdout.trim()
}

async function layOut(work: string, isRehearsal: boolean): Promise<Source> {
  const here = { checkout: project }
  const changed = await run('git', ['status', '--porcelain'], here)
  if (changed !== '' && !isRehearsal) throw new Error(`the checkout is not clean:\n${changed}`)
  const commit = await run('git', ['rev-parse', 'HEAD'], here)
  const epoch = await run('git', ['log', '-1', '--format=%ct'], here)
  const [checkout, archive] = [join(work, 'checkout'), join(work, 'commit.tar')]
  await mkdir(checkout)
  await run('git', ['archive', `--output=${archive}`, commit], here)
  await run('tar', ['-xf', archive, '-C', checkout], here)
  const problems = await versionProblems(checkout, isRehearsal)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const { version } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as { version: string }
  process.env['SOURCE_DATE_EPOCH'] = epoch
  return { checkout, version, commit, epoch }
}

async function packPackages(source: Source, out: string): Promise<void> {
  const { checkout, version } = source
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], source)
  await run('npm', ['run', 'build'], source)
  for (const folder of ['.', CLIENT])
    await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', out, `./${folder}`], source)
  for (const [name, folder] of [
    ['submission-mirror', 'dist'],
    ['submission-mirror-client', CLIENT],
  ] as const) {
    await copyFile(join(checkout, folder, 'sbom.cdx.json'), join(out, `${name}-${version}.sbom.cdx.json`))
    await copyFile(join(checkout, folder, 'THIRD-PARTY-LICENSES.txt'), join(out, `${name}-${version}.licenses.txt`))
  }
}

/** Packs the image's program folder: files by name, with the commit's time and no owner. */
async function packImage(source: Source, folder: string, out: string) {
  await mkdir(folder)
  const { root, base } = await buildImage(source.checkout, folder)
  const file = `submission-mirror-${source.version}.image-app.tar`
  const same = ['--sort=name', '--format=gnu', '--owner=0', '--group=0', '--numeric-owner', '--mode=u+rw,go+r,go-w,a+X']
  await run('tar', [...same, `--mtime=@${source.epoch}`, '-cf', join(out, file), '-C', root, 'app'], source)
  return { base, file, digest: `sha256:${await sha256(join(out, file))}` }
}

async function factsOf(source: Source, { base, digest }: { readonly base: string; readonly digest: string }): Promise<object> {
  const { version, commit, epoch } = source
  return {
    version,
    commit,
    committed_at: new Date(Number(epoch) * 1000).toISOString(),
    made_with: { node: process.version, npm: await run('npm', ['--version'], source) },
    image: { base, app: digest },
  }
}

async function writeSums(out: string): Promise<void> {
  const names = (await readdir(out)).sort()
  const lines = await Promise.all(names.map(async (name) => `${await sha256(join(out, name))}  ${name}\n`))
  await writeFile(join(out, 'SHA256SUMS'), lines.join(''))
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

await main()
