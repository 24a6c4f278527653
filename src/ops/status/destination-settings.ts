import type { Config, DestinationConfig } from '../../config/config.ts'
import { hiderOf } from './settings.ts'

/** A template that is no more than a text. */
const PLAIN_TEMPLATE = /^\s*(["'])(https?:\/\/[^"'\\]*)\1\s*$/

/** @returns where a destination lies, without user, query and secrets; null where only a template says it. */
export function addressOf(destination: DestinationConfig): string | null {
  const hide = hiderOf({ destinations: [destination] })
  if (destination.kind === 'file') {
    const { target } = destination
    return hide(target.type === 'folder' ? target.path : `sftp://${target.host}:${target.port}/${target.path.replace(/^\/+/, '')}`)
  }
  const url = URL.parse(urlOf(destination) ?? '')
  return url && hide(`${url.origin}${url.pathname}`)
}

function urlOf(destination: Exclude<DestinationConfig, { kind: 'file' }>): string | undefined {
  if (destination.kind === 'http') return PLAIN_TEMPLATE.exec(destination.request.url)?.[2]
  return destination.kind === 'queue' ? destination.queue.url : destination.url
}

/** @returns in words what a destination is narrowed to. */
export function narrowedTo(destination: DestinationConfig, { accounts }: Pick<Config, 'accounts'>): string {
  const { entities, operations, eventTypes } = destination
  const isEveryAccount = accounts.every(({ name }) => destination.accounts.includes(name))
  const parts = [
    ['tables', entities],
    ['operations', operations],
    ['event types', eventTypes],
    ['accounts', isEveryAccount ? null : destination.accounts],
  ] as const
  const byContent = destination.filter === null ? [] : ['what its filter lets pass']
  const told = [...parts.flatMap(([what, names]) => (names === null ? [] : [`${what} ${names.join(', ')}`])), ...byContent]
  return told.length === 0 ? 'everything' : told.join('; ')
}

/** @returns whether a destination can be asked what it has. */
export function canVerify(destination: DestinationConfig): boolean {
  return destination.kind === 'http' && (destination.check !== null || destination.lookup !== null)
}
