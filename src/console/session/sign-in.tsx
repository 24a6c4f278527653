import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useId, useState } from 'react'
import { reasonOf } from '../api/client.ts'
import { methodsQuery, sessionQuery } from '../api/queries.ts'
import { Logo } from '../layout/logo.tsx'
import { keepAddress, signIn } from './session.ts'

/** The sign-in page. It replaces the requested page, whose address stays. @param token to fill in the form with. */
export function SignIn({ token }: { readonly token: string }) {
  const { data: methods } = useQuery(methodsQuery)
  useEffect(() => {
    document.title = 'Sign in · submission-mirror'
  }, [])
  const oidc = methods?.oidc ?? null
  // A link does not bear `Origin`, and a proxy may hide by which address this page was reached.
  const from = encodeURIComponent(location.origin)
  return (
    <main className="sign-in">
      <Logo />
      <h1>Sign in</h1>
      {oidc && (
        <button
          type="button"
          className="button primary"
          onClick={() => {
            keepAddress()
            location.assign(`${oidc.path}?from=${from}`)
          }}
        >
          Sign in with {oidc.name}
        </button>
      )}
      {methods?.token !== false && <TokenForm token={token} isSecond={oidc !== null} />}
    </main>
  )
}

interface FormProps {
  readonly token: string
  /** Whether there is another way, which comes first. */
  readonly isSecond: boolean
}

function TokenForm({ token, isSecond }: FormProps) {
  const client = useQueryClient()
  const field = useId()
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const given = new FormData(event.currentTarget).get('token')
    setBusy(true)
    try {
      await signIn(typeof given === 'string' ? given : '')
      await client.invalidateQueries({ queryKey: sessionQuery.queryKey })
    } catch (error) {
      setProblem(reasonOf(error))
      setBusy(false)
    }
  }
  return (
    <>
      <form onSubmit={(event) => void submit(event)}>
        <label htmlFor={field}>Token</label>
        <input id={field} name="token" type="password" autoComplete="current-password" required spellCheck={false} defaultValue={token} />
        <button type="submit" className={isSecond ? 'button' : 'button primary'} disabled={isBusy}>
          Sign in
        </button>
        {problem !== null && <p role="alert">{problem}</p>}
      </form>
      <p className="quiet">
        One of the tokens of the setting <code>OPS_TOKENS</code>. It is kept by the program, not by this browser.
      </p>
    </>
  )
}
