import type { FastifyInstance } from 'fastify'
import { send } from './answers.ts'
import { pageScript } from './page-script.ts'

/**
 * Content security policy. Allows scripts, styles, and requests only from the sandbox itself. Forbids inline scripts
 * and styles.
 */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function registerPage(app: FastifyInstance): void {
  const serve = (path: string, contentType: string, text: string) => {
    const answer = { status: 200, contentType: `${contentType}; charset=utf-8`, body: Buffer.from(text) }
    const headers = { 'content-security-policy': POLICY, 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' }
    app.get(path, (_request, reply) => send(reply, { ...answer, headers }))
  }
  serve('/', 'text/html', pageHtml)
  serve('/page.css', 'text/css', pageStyle)
  serve('/page.js', 'text/javascript', pageScript)
}

const pageStyle = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 90rem; padding: 1rem 1.5rem 3rem; }
h1, h2 { line-height: 1.2; }
h2 { font-size: 1.15rem; margin: 2rem 0 0.5rem; }
header p { margin: 0.25rem 0; }
#said { min-height: 1.5em; font-weight: 600; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.75rem 0.3rem 0; border-bottom: 1px solid GrayText; overflow-wrap: anywhere; }
th { white-space: nowrap; }
form, #story { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: center; margin: 0.5rem 0; }
button, input, select { font: inherit; padding: 0.25rem 0.6rem; }
button { white-space: nowrap; }
[hidden] { display: none; }
`

/** The page without data. The script fills in the data. */
const pageHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sandbox</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script src="/page.js" defer></script>
</head>
<body>
<header>
<h1>Sandbox</h1>
<p id="clock"></p>
<p role="status" id="said"></p>
</header>
<main>
<section aria-labelledby="time-heading">
<h2 id="time-heading">Time</h2>
<form id="step">
<label>Seconds <input name="seconds" type="number" min="0" step="any" value="300" required></label>
<button>Let time pass</button>
</form>
<div id="story">
<span id="progress"></span>
<button type="button" data-story="start">Start the story</button>
<button type="button" data-story="pause">Pause the story</button>
<button type="button" data-story="step">Next step of the story</button>
</div>
</section>
<section aria-labelledby="device-heading">
<h2 id="device-heading">Approve a device</h2>
<form id="device">
<label>Code <input name="user_code" required autocomplete="off" list="codes"></label>
<datalist id="codes"></datalist>
<label>As <select name="email" required></select></label>
<button>Approve</button>
<button type="button" id="deny">Deny</button>
</form>
</section>
<section aria-labelledby="accounts-heading">
<h2 id="accounts-heading">Accounts</h2>
<table aria-labelledby="accounts-heading">
<thead><tr><th>Name</th><th>Brokerage</th><th>Client id</th><th>Producer</th><th>Deliveries to</th><th>Submissions</th></tr></thead>
<tbody id="accounts"></tbody>
</table>
</section>
<section aria-labelledby="deliveries-heading">
<h2 id="deliveries-heading">Deliveries</h2>
<p><button type="button" id="lose-next">Lose the next delivery</button></p>
<table aria-labelledby="deliveries-heading">
<thead><tr><th>Made</th><th>Account</th><th>Submission</th><th>Kind</th><th>Outcome</th><th>Attempts</th><th>Last status</th><th>Action</th></tr></thead>
<tbody id="deliveries"></tbody>
</table>
</section>
<section aria-labelledby="submissions-heading">
<h2 id="submissions-heading">Submissions</h2>
<table aria-labelledby="submissions-heading">
<thead><tr><th>Insured</th><th>Account</th><th>Id</th><th>Marketing</th><th>Lanes</th><th>Events</th><th>Messages</th></tr></thead>
<tbody id="submissions"></tbody>
</table>
</section>
</main>
</body>
</html>
`
