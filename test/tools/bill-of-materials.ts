/**
 * Writes the product's components into a folder: `sbom.cdx.json` (CycloneDX) and `THIRD-PARTY-LICENSES.txt`, the license of every shipped
 * package. The same lock file gives the same bytes. Run it in the project's root after `npm ci`. With the package.json of a part, it lists
 * what that part needs:
 * node test/tools/bill-of-materials.ts FOLDER [PACKAGE.JSON]
 */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

interface Bom {
  serialNumber?: string
  metadata: { timestamp?: string; component: { 'bom-ref': string; name: string; version: string; purl: string; description?: string } }
  components: { 'bom-ref': string; name: string; version: string; licenses?: unknown[] }[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly dependencies: Readonly<Record<string, string>>
}

interface Shipped {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly path: string
}

const LICENSE_FILE = /^(licen[cs]e|copying|notice)/i

async function main([folder, part]: string[]): Promise<void> {
  if (folder === undefined) throw new Error('name the folder to write to')
  const all = await readShipped()
  const whole = await billOfMaterials(all)
  const bom = part === undefined ? whole : partOf(whole, JSON.parse(await readFile(part, 'utf8')) as Manifest)
  const shipped = all.filter((one) => bom.components.some(({ name, version }) => name === one.name && version === one.version))
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'sbom.cdx.json'), `${JSON.stringify(bom, null, 1)}\n`)
  await writeFile(join(folder, 'THIRD-PARTY-LICENSES.txt'), (await Promise.all(shipped.map(licenseText))).join('\n'))
}

async function readShipped(): Promise<Shipped[]> {
  type Locked = { version: string; license?: string; dev?: boolean; link?: boolean }
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8')) as { packages: Record<string, Locked> }
  // A link refers to another entry, which has the flags.
  const entries = Object.entries(packages).filter(([path, { dev, link }]) => path !== '' && dev !== true && link !== true)
  return await Promise.all(
    entries.map(async ([path, { version, license }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
      return { name, version, path, license: license ?? (await olderLicense(path)) }
    }),
  )
}

/** The license of a package in the older form, which the lock file omits. */
async function olderLicense(path: string): Promise<string> {
  const { licenses = [] } = JSON.parse(await readFile(join(path, 'package.json'), 'utf8')) as { licenses?: { type: string }[] }
  if (licenses.length === 0) throw new Error(`${path} names no license`)
  return licenses.map(({ type }) => type).join(' OR ')
}

async function billOfMaterials(shipped: readonly Shipped[]): Promise<Bom> {
  // npm's option for omitting development packages also omits packages shared with them.
  const args = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application']
  // On Windows, npm is a script and needs a shell.
  const { stdout } = await run('npm', args, { maxBuffer: 64 << 20, shell: process.platform === 'win32' })
  const { serialNumber: _, ...bom } = JSON.parse(stdout) as Bom
  const { timestamp: __, ...metadata } = bom.metadata
  const { name } = JSON.parse(await readFile('package.json', 'utf8')) as { name: string }
  const components = bom.components.flatMap((component) => {
    const known = shipped.find((one) => one.name === component.name && one.version === component.version)
    return known === undefined ? [] : [{ ...component, licenses: component.licenses ?? [{ expression: known.license }] }]
  })
  const missing = shipped.filter((one) => !components.some((component) => component.name === one.name && component.version === one.version))
  if (missing.length > 0) throw new Error(`npm lists no ${missing.map((one) => one.name).join(', ')}`)
  const kept = new Set(components.map((component) => component['bom-ref']))
  const dependencies = bom.dependencies
    .filter(({ ref }) => kept.has(ref) || !bom.components.some((component) => component['bom-ref'] === ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) }))
  // npm uses the folder's name.
  return { ...bom, metadata: { ...metadata, component: { ...metadata.component, name } }, components, dependencies }
}

/** @returns what a part of the product needs, recursively. */
function partOf(bom: Bom, { name, version, description, dependencies }: Manifest): Bom {
  const ref = `${name}@${version}`
  const direct = bom.components.filter((component) => Object.hasOwn(dependencies, component.name)).map((component) => component['bom-ref'])
  const needed = new Set(direct)
  for (const each of needed) for (const other of bom.dependencies.find((one) => one.ref === each)?.dependsOn ?? []) needed.add(other)
  const component = { ...bom.metadata.component, 'bom-ref': ref, name, version, description, purl: `pkg:npm/${ref}` }
  return {
    ...bom,
    metadata: { ...bom.metadata, component },
    components: bom.components.filter((one) => needed.has(one['bom-ref'])),
    dependencies: [{ ref, dependsOn: direct }, ...bom.dependencies.filter((one) => needed.has(one.ref))],
  }
}

async function licenseText({ name, version, license, path }: Shipped): Promise<string> {
  const files = await readdir(path, { withFileTypes: true }).catch(() => [])
  const names = files.filter((file) => file.isFile() && LICENSE_FILE.test(file.name)).map((file) => file.name)
  const texts = await Promise.all(names.sort().map((file) => readFile(join(path, file), 'utf8')))
  const line = '='.repeat(100)
  return `${line}\n${name} ${version}: ${license}\n${line}\n${texts.map((text) => `${text.trim()}\n`).join('\n')}`
}

await main(process.argv.slice(2))
