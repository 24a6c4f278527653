import type { Account } from '../service/accounts.ts'
import type { AuthorizationRequest } from '../service/authorizations.ts'

/** @returns the page at which a broker approves a connected app: a link for each user, and one to deny. */
export function approvalPage(
  { client, scopes }: AuthorizationRequest,
  query: URLSearchParams,
  accounts: readonly Account[],
  origin: string,
): Buffer {
  const link = (fields: Readonly<Record<string, string>>, text: string) =>
    `<li><a href="${escapeHtml(`${origin}/_sandbox/authorize-as?${new URLSearchParams({ ...Object.fromEntries(query), ...fields })}`)}">${escapeHtml(text)}</a></li>`
  const users = accounts.flatMap((account) =>
    account.users
      .filter(({ active }) => active)
      .map(({ email, role }) => link({ account: account.name, email }, `${email} (${role}, ${account.brokerage.name})`)),
  )
  const denier = accounts[0]?.users[0]?.email ?? ''
  return Buffer.from(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Approve ${escapeHtml(client.name)}</title></head>
<body>
<h1>Approve a connected app</h1>
<p>${escapeHtml(client.name || 'A client')} asks for ${escapeHtml(scopes.join(' '))}. Approve as:</p>
<ul>
${users.join('\n')}
</ul>
<p>Or do not:</p>
<ul>
${link({ email: denier, deny: '1' }, 'Deny')}
</ul>
</body>
</html>
`)
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
