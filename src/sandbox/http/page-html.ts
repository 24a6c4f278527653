/** The document of the page. What it shows is filled in by the script. */
export const pageHtml = `<!doctype html>
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
