import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { methodsQuery, sessionQuery } from '../api/queries.ts'
import { Logo } from '../layout/logo.tsx'
import { Field, Form } from '../parts/form.tsx'
import { keepAddress, signIn } from './session.ts'

/**
 * Sign-in page. Shown at the address of the requested page until the user signs in.
 * @param token initial text of the token field.
 */
export function SignIn({ token }: { readonly token: string }) {
  const { data: methods } = useQuery(methodsQuery)
  useEffect(() => {
    document.title = 'Sign in · submission-mirror'
  }, [])
  const oidc = methods?.oidc ?? null
  // Pass the origin of this page to the server. The server can't find the origin otherwise, because a link sends no
  // `Origin` header, and a proxy may hide the address.
  const from = encodeURIComponent(location.origin)
  return (
    <main className="sign-in stack">
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
  /** Whether the page shows another way to sign in above this form. */
  readonly isSecond: boolean
}

function TokenForm({ token, isSecond }: FormProps) {
  const client = useQueryClient()
  const enter = useMutation({
    mutationFn: signIn,
    onSuccess: () => client.invalidateQueries({ queryKey: sessionQuery.queryKey }),
  })
  return (
    <>
      <Form className="stack" onSubmit={({ text }) => enter.mutate(text('token'))}>
        <Field
          label="Token"
          name="token"
          type="password"
          autoComplete="current-password"
          required
          spellCheck={false}
          defaultValue={token}
        />
        <button type="submit" className={isSecond ? 'button' : 'button primary'} disabled={enter.isPending || enter.isSuccess}>
          Sign in
        </button>
        {enter.error && <p role="alert">{enter.error.message}</p>}
      </Form>
      <p className="quiet table-text">
        Use a token from <code>OPS_TOKENS</code>. This browser doesn't store it.
      </p>
    </>
  )
}
