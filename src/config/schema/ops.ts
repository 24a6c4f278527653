import { items, secret, section, time, value } from './builders.ts'
import { checkOrder, checkTokens } from './cross-checks.ts'
import { oidcSchema } from './oidc.ts'
import { roles } from './roles.ts'
import { flag, listenHost, matching, number, oneOf, publicUrl } from './values.ts'

/** An address to listen on, and its port. */
export const host = value(listenHost)
export const port = value(number(0, 65_535))

/** Splits `name:token[:role]` at white space. A token may hold colons itself: only one of the roles at its end is a role. */
function tokenPairs(text: string): unknown[] {
  return text
    .split(/\s+/)
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [, named = '', role] = /^(.*?)(?::(viewer|operator|admin))?$/.exec(pair) ?? []
      const colon = named.indexOf(':')
      return { name: named.slice(0, Math.max(colon, 0)), token: named.slice(colon + 1), ...(role !== undefined && { role }) }
    })
}

const tokens = items(
  section({
    name: value(matching(/^[A-Za-z0-9][\w.-]{0,62}$/, 'must be name:token; the name may have letters, digits, _, . and -')),
    token: secret(
      matching(/^[\x21-\x7e]{16,512}$/, 'must have a token of 16 to 512 characters of ASCII, without spaces'),
      'is missing; set it',
    ),
    role: value(oneOf(roles)).prefault('admin'),
  }),
  100,
  tokenPairs,
)

/** Health, metrics and admin routes. */
export const opsSchema = section({
  host: host.prefault('127.0.0.1').meta({
    env: 'OPS_HOST',
    shown: '`127.0.0.1` (`0.0.0.0` in the image)',
    description: 'address of health, metrics and [admin routes](../docker/README.md#use-the-admin-routes)',
  }),
  port: port.prefault(8081).meta({ env: 'OPS_PORT', description: 'port of health, metrics and admin routes; never the same as `PORT`' }),
  tokens: tokens.check(checkTokens).prefault([]).meta({
    env: 'OPS_TOKENS',
    file: true,
    description:
      '`name:token[:role]`, separated by spaces, or a list; tokens of 16 to 512 characters; [role](#what-may-a-token-do) `viewer`, `operator` or `admin` (default). Without one, and without `ops.oidc`, there are no admin routes',
  }),
  public_url: value(publicUrl).optional().meta({
    env: 'OPS_PUBLIC_URL',
    description:
      'the URL by which people reach this port through a proxy. Sign-in and cookies go by it, whatever `Host` the proxy passes on. Other names in `Host` than this, loopback and the own address are refused (421)',
  }),
  session_idle: time('1m', '30d').prefault('30m').meta({
    env: 'OPS_SESSION_IDLE',
    description: 'how long who [signed in](../docker/README.md#use-the-admin-routes) stays so without a request; 1m to 30d',
  }),
  session_max: time('1m', '30d')
    .prefault('12h')
    .meta({ env: 'OPS_SESSION_MAX', description: 'how long who signed in stays so altogether; 1m to 30d' }),
  mcp_actions: value(flag).prefault(false).meta({
    env: 'OPS_MCP_ACTIONS',
    description:
      'whether [an assistant](../docker/README.md#connect-an-assistant) whose token has the role `operator` may also read now, replay, retry and reconcile',
  }),
  oidc: oidcSchema.optional().meta({
    description:
      'a provider of OpenID Connect by which people [sign in](#how-do-people-sign-in-with-their-own-account) to the console, with tokens or without',
  }),
}).check(checkOrder('ops', ['session_idle', 'session_max']))
