// A hand-made stand-in for a kernel that Vitis HLS exported: its ports, its style (names in the header, directions in
// the body, helper modules with the kernel's name in front, memory contents from the working directory), nothing of
// its inside. It has the codec raw only and refuses every other with BAD_CODEC; it trusts lengths and geometry.
`timescale 1 ns / 1 ps

module kv_compress (
        ap_clk,
        ap_rst_n,
        raw_in_TDATA,
        raw_in_TVALID,
        raw_in_TREADY,
        raw_in_TKEEP,
        raw_in_TLAST,
        frame_out_TDATA,
        frame_out_TVALID,
        frame_out_TREADY,
        frame_out_TKEEP,
        frame_out_TLAST
);

parameter    ap_ST_fsm_header = 2'd0;
parameter    ap_ST_fsm_page = 2'd1;
parameter    ap_ST_fsm_send_header = 2'd2;
parameter    ap_ST_fsm_send_page = 2'd3;
parameter    BAD_MAGIC = 8'd1;
parameter    BAD_CODEC = 8'd4;

input   ap_clk;
input   ap_rst_n;
input  [511:0] raw_in_TDATA;
input   raw_in_TVALID;
output   raw_in_TREADY;
input  [63:0] raw_in_TKEEP;
input  [0:0] raw_in_TLAST;
output  [511:0] frame_out_TDATA;
output   frame_out_TVALID;
input   frame_out_TREADY;
output  [63:0] frame_out_TKEEP;
output  [0:0] frame_out_TLAST;

reg    ap_rst_n_inv;
reg   [1:0] ap_CS_fsm;
reg   [511:0] request;
reg   [511:0] page [0:511];
reg   [9:0] beats;
reg   [9:0] sent;
reg   [31:0] payload_crc;
wire   [511:0] in_data;
wire   [63:0] in_keep;
wire    in_last;
wire    in_valid;
wire    in_ready;
reg   [511:0] out_data;
reg    out_last;
wire    out_valid;
wire    out_ready;
wire   [31:0] magic_q0;
wire   [7:0] status;
reg   [511:0] header;
wire    unused;

assign unused = &{1'b0, in_keep};

kv_compress_magic_ROM_AUTO_1R #(
    .DataWidth( 32 ),
    .AddressRange( 1 ),
    .AddressWidth( 1 ))
magic_U(
    .clk(ap_clk),
    .reset(ap_rst_n_inv),
    .address0(1'd0),
    .ce0(1'b1),
    .q0(magic_q0)
);

kv_compress_regslice_both #(
    .DataWidth( 577 ))
regslice_both_raw_in_U(
    .ap_clk(ap_clk),
    .ap_rst(ap_rst_n_inv),
    .data_in({raw_in_TLAST, raw_in_TKEEP, raw_in_TDATA}),
    .vld_in(raw_in_TVALID),
    .ack_in(raw_in_TREADY),
    .data_out({in_last, in_keep, in_data}),
    .vld_out(in_valid),
    .ack_out(in_ready)
);

kv_compress_regslice_both #(
    .DataWidth( 577 ))
regslice_both_frame_out_U(
    .ap_clk(ap_clk),
    .ap_rst(ap_rst_n_inv),
    .data_in({out_last, {64{1'b1}}, out_data}),
    .vld_in(out_valid),
    .ack_in(out_ready),
    .data_out({frame_out_TLAST, frame_out_TKEEP, frame_out_TDATA}),
    .vld_out(frame_out_TVALID),
    .ack_out(frame_out_TREADY)
);

// CRC-32C of the first `bytes` bytes of a beat, on top of `crc`
function [31:0] crc_of;
    input [31:0] crc;
    input [511:0] beat;
    input integer bytes;
    integer i;
    begin
        crc_of = crc;
        for (i = 0; i < 8 * bytes; i = i + 1)
            crc_of = (crc_of >> 1) ^ ((crc_of[0] ^ beat[i]) ? 32'h82F63B78 : 32'd0);
    end
endfunction

assign status = (request[31:0] != magic_q0) ? BAD_MAGIC : (request[55:48] != 8'd0) ? BAD_CODEC : 8'd0;
assign in_ready = (ap_CS_fsm == ap_ST_fsm_header) || (ap_CS_fsm == ap_ST_fsm_page);
assign out_valid = (ap_CS_fsm == ap_ST_fsm_send_header) || (ap_CS_fsm == ap_ST_fsm_send_page);

always @ (*) begin
    header = request;
    header[79:72] = 8'd0;            // flags
    header[87:80] = status;
    header[95:88] = request[55:48];  // requested_codec
    header[223:192] = (status == 8'd0) ? request[191:160] : 32'd0;
    header[255:224] = (status == 8'd0) ? payload_crc : 32'd0;
    header[447:416] = (status == 8'd0) ? payload_crc : 32'd0;
    header[463:448] = 16'd0;          // scale_exponent, table
    header[479:472] = 8'd0;           // reserved, above scale_bits
    header[511:480] = ~crc_of(32'hFFFFFFFF, header, 60);
    if (ap_CS_fsm == ap_ST_fsm_send_page) begin
        out_data = page[sent[8:0]];
        out_last = (sent + 10'd1 == beats);
    end else begin
        out_data = header;
        out_last = (status != 8'd0);
    end
end

always @ (posedge ap_clk) begin
    ap_rst_n_inv <= ~ap_rst_n;
end

always @ (posedge ap_clk) begin
    if (ap_rst_n_inv == 1'b1) begin
        ap_CS_fsm <= ap_ST_fsm_header;
    end else begin
        case (ap_CS_fsm)
            ap_ST_fsm_header : if (in_valid) begin
                request <= in_data;
                beats <= 10'd0;
                payload_crc <= 32'd0;
                ap_CS_fsm <= in_last ? ap_ST_fsm_send_header : ap_ST_fsm_page;
            end
            ap_ST_fsm_page : if (in_valid) begin
                page[beats[8:0]] <= in_data;
                beats <= beats + 10'd1;
                payload_crc <= ~crc_of(~payload_crc, in_data, 64);
                if (in_last) ap_CS_fsm <= ap_ST_fsm_send_header;
            end
            ap_ST_fsm_send_header : if (out_ready) begin
                sent <= 10'd0;
                ap_CS_fsm <= (status == 8'd0) ? ap_ST_fsm_send_page : ap_ST_fsm_header;
            end
            ap_ST_fsm_send_page : if (out_ready) begin
                sent <= sent + 10'd1;
                if (out_last) ap_CS_fsm <= ap_ST_fsm_header;
            end
        endcase
    end
end

endmodule
