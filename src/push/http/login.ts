import { messageOf, PermanentError } from '../../base/errors.ts'
import type { AuthConfig, HttpDestination } from '../../config/config.ts'
import { type Answer, answered, StepFailure } from '../contract/outcomes.ts'
import type { Transport } from '../transport/transport.ts'
import { bodyOf, seen } from './answered.ts'
import { buildRequest } from './build-request.ts'
import type { ExchangedToken } from './stored-token.ts'
import type { Templates } from './templates.ts'
import { answerOf } from './token-endpoint.ts'
import { noToken } from './token-keeper.ts'

type Login = Extract<AuthConfig, { type: 'login' }>

/**
 * Gets a token by the login that a destination describes, or by its `refresh`.
 * @param refreshToken null: for the login itself.
 * @returns the value of its header. @throws StepFailure.
 */
export async function logIn(
  login: Login,
  { settings, timeoutMs }: Pick<HttpDestination, 'settings' | 'timeoutMs'>,
  transport: Transport,
  templates: Templates,
  refreshToken: string | null = null,
): Promise<ExchangedToken> {
  try {
    const credentials = Object.fromEntries(Object.entries(login.credentials).map(([name, secret]) => [name, secret.reveal()]))
    const request =
      refreshToken === null || login.refresh === null
        ? await buildRequest(templates, 'auth.request', login.request, { credentials, settings })
        : await buildRequest(templates, 'auth.refresh', login.refresh, { credentials, settings, refresh_token: refreshToken })
    return await tokenIn(login, await answerOf(transport, { ...request, timeoutMs }), templates)
  } catch (error) {
    if (error instanceof StepFailure) throw error
    throw new StepFailure(noToken(messageOf(error), null, error instanceof PermanentError))
  }
}

async function tokenIn({ expiresIn, refreshToken, scheme }: Login, answer: Answer, templates: Templates): Promise<ExchangedToken> {
  const optional = [...(expiresIn === null ? [] : ['auth.expires_in']), ...(refreshToken === null ? [] : ['auth.refresh_token'])]
  const values = await templates.evaluate(['auth.token', ...optional], seen(answer, {}), bodyOf(answer))
  const yielded = (name: string) => values[1 + optional.indexOf(name)] ?? null
  const [token] = values
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    throw new StepFailure(noToken(`the login ${answered(answer)}, in which auth.token finds none`, true, true, answer.status))
  const seconds = optional.includes('auth.expires_in') ? Number(yielded('auth.expires_in')) : 0
  const refresh = optional.includes('auth.refresh_token') ? yielded('auth.refresh_token') : null
  return {
    token: scheme === '' ? token : `${scheme} ${token}`,
    expiresInSeconds: seconds > 0 ? seconds : null,
    refreshToken: typeof refresh === 'string' && refresh !== '' ? refresh : null,
  }
}
