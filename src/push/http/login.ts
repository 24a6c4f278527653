import { messageOf, PermanentError } from '../../base/errors.ts'
import type { FetchedToken } from '../../base/token-holder.ts'
import type { AuthConfig, HttpDestination } from '../../config/config.ts'
import { StepFailure } from '../contract/outcomes.ts'
import type { Transport } from '../transport/transport.ts'
import { bodyOf, seen } from './answered.ts'
import { buildRequest } from './build-request.ts'
import type { Templates } from './templates.ts'
import { answerOf } from './token-endpoint.ts'
import { noToken } from './token-keeper.ts'

type Login = Extract<AuthConfig, { type: 'login' }>

/**
 * Gets a token by the login that a destination describes.
 * @returns the value of its header. @throws StepFailure.
 */
export async function logIn(
  login: Login,
  { settings, timeoutMs }: Pick<HttpDestination, 'settings' | 'timeoutMs'>,
  transport: Transport,
  templates: Templates,
): Promise<FetchedToken> {
  try {
    const credentials = Object.fromEntries(Object.entries(login.credentials).map(([name, secret]) => [name, secret.reveal()]))
    const request = await buildRequest(templates, 'auth.request', login.request, { credentials, settings })
    const answer = await answerOf(transport, { ...request, timeoutMs })
    const names = ['auth.token', ...(login.expiresIn === null ? [] : ['auth.expires_in'])]
    const [token, expiresIn = null] = await templates.evaluate(names, seen(answer, {}), bodyOf(answer))
    if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
      throw new StepFailure(noToken('auth.token finds none in the answer of the login', true))
    const seconds = Number(expiresIn)
    return {
      token: login.scheme === '' ? token : `${login.scheme} ${token}`,
      expiresInSeconds: expiresIn !== null && seconds > 0 ? seconds : null,
    }
  } catch (error) {
    if (error instanceof StepFailure) throw error
    throw new StepFailure(noToken(messageOf(error), null, error instanceof PermanentError))
  }
}
