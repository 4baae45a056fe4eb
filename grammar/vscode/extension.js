// Starts `mrdsl lsp` and hands the editor's requests to it; all knowledge of the language is in the server.
const { workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

function activate() {
  const command = workspace.getConfiguration("mrdsl").get("command", "mrdsl");
  const server = { command, args: ["lsp"], transport: TransportKind.stdio };
  client = new LanguageClient("mrdsl", "mrdsl", server, { documentSelector: [{ language: "mrspec" }] });
  return client.start();
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
