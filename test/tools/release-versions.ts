import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * @returns where a checkout differs from the version of its package.json, in sentences. @param isRehearsal whether the changelog may call
 * the version unreleased.
 */
export async function versionProblems(checkout: string, isRehearsal: boolean): Promise<string[]> {
  const read = (path: string) => readFile(join(checkout, path), 'utf8')
  const { version } = JSON.parse(await read('package.json')) as { version: string }
  const locked = JSON.parse(await read('package-lock.json')) as { version: string; packages: Record<string, { version?: string }> }
  const image = /image\.version="([^"]*)"/.exec(await read('docker/Dockerfile'))?.[1]
  const compose = /image: submission-mirror:(\S+)/.exec(await read('docker/compose.yaml'))?.[1]
  const said = { 'package-lock.json': locked.version, 'docker/Dockerfile': image, 'docker/compose.yaml': compose }
  const others = Object.entries(said).filter(([, other]) => other !== version)
  const [heading = 'no heading'] = /^## \[.*$/m.exec(await read('CHANGELOG.md')) ?? []
  const wanted = `## [${version}] - YYYY-MM-DD`
  const isDated = new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d$`).test(heading)
  const isAhead = isRehearsal && (heading.startsWith(`## [Unreleased] - ${version},`) || heading === '## [Unreleased]')
  return [
    ...others.map(([file, other]) => `${file} says ${other}, package.json says ${version}`),
    ...(isDated || isAhead ? [] : [`CHANGELOG.md begins with "${heading}"; of this version it must be "${wanted}"`]),
  ]
}
