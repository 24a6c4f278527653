import type { Config, DestinationConfig } from '../../config/config.ts'
import { hiderOf } from './settings.ts'

/** Matches a template that consists only of a quoted URL. */
const PLAIN_TEMPLATE = /^\s*(["'])(https?:\/\/[^"'\\]*)\1\s*$/

/**
 * @returns the address of a destination, without user, query and secrets; null if a template determines the address.
 */
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

/** @returns the filters of a destination as text; `everything` if the destination has no filters. */
export function narrowedTo(destination: DestinationConfig, { accounts }: Pick<Config, 'accounts'>): string {
  const { entities, operations, eventTypes } = destination
  const isEveryAccount = accounts.every(({ name }) => destination.accounts.includes(name))
  const parts = [
    ['tables', entities],
    ['operations', operations],
    ['event types', eventTypes],
    ['accounts', isEveryAccount ? null : destination.accounts],
  ] as const
  const byContent = destination.filter === null ? [] : ['changes that match its filter']
  const filters = [...parts.flatMap(([what, names]) => (names === null ? [] : [`${what} ${names.join(', ')}`])), ...byContent]
  return filters.length === 0 ? 'everything' : filters.join('; ')
}

export function canVerify(destination: DestinationConfig): boolean {
  return destination.kind === 'http' && (destination.check !== null || destination.lookup !== null)
}
