import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newFolder } from '../tools/new-folder.ts'
import { versionProblems } from '../tools/release-versions.ts'

const project = join(import.meta.dirname, '../..')

/** The files that name the version, one of them changed. */
async function checkout(file: string, change: (text: string) => string): Promise<string> {
  const folder = newFolder()
  for (const each of ['package.json', 'package-lock.json', 'docker/Dockerfile', 'docker/compose.yaml', 'CHANGELOG.md'])
    await cp(join(project, each), join(folder, each))
  const path = join(folder, file)
  await writeFile(path, change(await readFile(path, 'utf8')))
  return folder
}

const { version } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as { version: string }
const headed = (heading: string) => checkout('CHANGELOG.md', (text) => text.replace(/^## \[.*$/m, heading))

it('the project passes a trial release', async () => {
  expect(await versionProblems(project, true)).toEqual([])
})

it('a release needs a changelog of its version, with the day', async () => {
  expect(await versionProblems(await headed(`## [${version}] - 2026-12-01`), false)).toEqual([])
  for (const heading of [`## [Unreleased] - ${version}, the first release`, '## [9.9.9] - 2026-12-01', `## [${version}]`]) {
    expect(await versionProblems(await headed(heading), false)).toEqual([
      `CHANGELOG.md begins with "${heading}"; of this version it must be "## [${version}] - YYYY-MM-DD"`,
    ])
  }
  expect(await versionProblems(await headed('## [9.9.9] - 2026-12-01'), true)).toHaveLength(1)
})

it.each([
  ['package-lock.json', /"version": "[^"]*"/],
  ['docker/Dockerfile', /image\.version="[^"]*"/],
  ['docker/compose.yaml', /image: submission-mirror:\S+/],
])('a release needs one version: %s must agree', async (file, said) => {
  const folder = await checkout(file, (text) => text.replace(said, (found) => found.replaceAll(version, '9.9.9')))
  expect(await versionProblems(folder, true)).toEqual([`${file} says 9.9.9, package.json says ${version}`])
})
